"""Files of problems in a folder, and what a batch takes in of them."""

import json
from pathlib import Path
from typing import Any

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.config import FrozenProblems
from tidepool.engine.studies.evolution.inputs import settings_of


def written(folder: Path, name: str, content: object) -> str:
    """As JSONL where it is a list; else as it is."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        assert isinstance(content, list)
        path.write_text("\n".join(json.dumps(row) for row in content), encoding="utf-8")
    return name


def config(folder: Path, problems: str = "all.jsonl", **settings: Any) -> FrozenConfig:
    real = {"model": "gpt4o_mini", "mutator": "gpt4o_mini", "judge": "gpt4o_mini"}
    data = {"batch": {"kind": "evolution", "seed": 3}, "evolution": {"problems": problems, **real, **settings}}
    return freeze(config_from(data, folder=folder), folder / "study.db")


def taken(folder: Path, problems: str = "all.jsonl", **settings: Any) -> FrozenProblems:
    frozen = settings_of(config(folder, problems, **settings)).frozen
    assert frozen is not None
    return frozen


def refusal(folder: Path, problems: str = "all.jsonl", **settings: Any) -> tuple[str, str]:
    """The key that is wrong, and why."""
    try:
        config(folder, problems, **settings)
    except UsageError as error:
        return str(error.where[-1] if error.where else ""), str(error)
    raise AssertionError("it was taken")


def everything(frozen: FrozenProblems) -> dict[str, str]:
    """Question → answer, of all splits."""
    return {one.question: one.answer for one in (*frozen.training, *frozen.validation)}
