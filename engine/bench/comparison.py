"""A user's own study, one call at a time and in waves: what was gained. Both run on files of their own, without cache."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.run import run_batch


@dataclass(frozen=True, slots=True)
class BenchComparison:
    sequential: dict[str, Any]
    """summary of the study with one call in flight at a time"""
    waves: dict[str, Any]
    """summary of the study as its config says"""

    @property
    def speedup(self) -> float:
        return float(self.sequential["seconds"] / self.waves["seconds"])

    def as_json(self) -> dict[str, Any]:
        return {
            "calls": self.waves["calls"]["total"],
            "seconds_sequential": self.sequential["seconds"],
            "seconds_waves": self.waves["seconds"],
            "speedup": self.speedup,
            "cost_usd_sequential": self.sequential["cost_usd"],
            "cost_usd_waves": self.waves["cost_usd"],
            "simulated": self.waves["simulated"],
            "same_statistics": _findings(self.sequential) == _findings(self.waves),
        }


def _findings(summary: dict[str, Any]) -> dict[str, Any]:
    """What was found; how fast differs in any two runs."""
    return {name: found for name, found in summary["statistics"].items() if name != "performance"}


def compare(config: Config) -> BenchComparison:
    with tempfile.TemporaryDirectory(prefix="tidepool-bench-") as folder:
        fresh = _with_service(config, cache=False)
        one_by_one = _with_service(config, cache=False, name="default", max_concurrent=1)
        for provider in type(config.providers).model_fields:
            settings = getattr(one_by_one.providers, provider)
            setattr(one_by_one.providers, provider, settings.model_copy(update={"max_concurrent": 1}))
        waves = asyncio.run(run_batch(fresh, Path(folder) / "waves.db"))
        sequential = asyncio.run(run_batch(one_by_one, Path(folder) / "sequential.db"))
    return BenchComparison(sequential, waves)


def _with_service(config: Config, **changes: Any) -> Config:
    return config.model_copy(
        update={
            "service": config.service.model_copy(update=changes),
            "providers": config.providers.model_copy(deep=True),
        }
    )
