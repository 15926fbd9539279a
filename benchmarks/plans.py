"""Plans of random studies against what those then take: calls and cost never above "at most", and near the expected.

Every study is run twice on the simulated provider with prices: with its ordinary replies, which the expected is held
to, and with replies that use all the tokens they may, which the bound must hold for.
"""

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.support.random_studies import KINDS, WORDS, random_study
from tidepool import run_batch
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.call import Call, expected_tokens
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.runtime.plans import priced
from tidepool.engine.simulated.provider import SimulatedProvider
from tidepool.engine.studies.study import study_from

STUDIES = 100
NEAR = 0.25
EARLY = ("target_fitness", "stagnation")
"""reasons of an evolution that ends before its whole length"""


@dataclass(frozen=True, slots=True)
class Trial:
    """A plan and the run that came of it."""

    kind: str
    seed: int
    endless: bool
    calls: int
    cost: float
    expected_calls: int
    expected_cost: float
    most_calls: int
    most_cost: float
    shortened: bool
    """a stop rule ended it before its whole length, which is what a plan expects"""

    @property
    def kept(self) -> bool:
        return self.calls <= self.most_calls and self.cost <= self.most_cost * (1 + 1e-9)

    @property
    def near(self) -> bool:
        """Both within a quarter of the expected; of a shortened run, not more than that above it."""
        return self._near(self.calls, self.expected_calls) and self._near(self.cost, self.expected_cost)

    def _near(self, found: float, expected: float) -> bool:
        least = 0.0 if self.shortened else (1 - NEAR) * expected
        return least - 1e-12 <= found <= (1 + NEAR) * expected + 1e-12


@contextmanager
def real_lengths(*, endless: bool) -> Iterator[None]:
    """While it lasts, simulated replies are cut at their most tokens, as any provider does; endless ones reach them all,
    and think as long as they may."""
    answer = SimulatedProvider.answer

    def kept(self: SimulatedProvider, call: Call, seed: int, *, batch: bool = False) -> Answer:
        said = answer(self, call, seed, batch=batch)
        if call.operation != "chat":
            return said
        room = 4 * call.max_tokens
        filler = "".join(f" {WORDS[place % len(WORDS)]}" for place in range(room // 2 if endless else 0))
        text = (said.text + filler)[:room]
        output = expected_tokens(text) + (call.max_reasoning_tokens if endless else 0)
        cost = self._tag.cost(said.input_tokens, output, batch=batch)
        return said._replace(text=text, output_tokens=output, cost_usd=cost)

    SimulatedProvider.answer = kept  # type: ignore[method-assign]
    try:
        yield
    finally:
        SimulatedProvider.answer = answer  # type: ignore[method-assign]


def trial(kind: str, seed: int, *, endless: bool, folder: Path) -> Trial:
    config = config_from(random_study(kind, seed), source="")
    database = folder / f"{kind}-{seed}-{endless}.db"
    frozen = freeze(config, database)
    plan = priced(study_from(frozen).plan(), frozen)
    with real_lengths(endless=endless):
        summary = asyncio.run(run_batch(config, database))
    if summary.status != "completed":
        raise RuntimeError(f"{kind} {seed}: {summary.status}, {summary.reason}")
    most = plan["at_most"]
    return Trial(
        *(kind, seed, endless, summary.calls.total, summary["cost_usd"]),
        *(plan["calls"], plan["cost_usd"], most["calls"], most["cost_usd"]),
        summary.reason in EARLY,
    )


def trials(kind: str, seeds: Iterable[int]) -> Iterator[Trial]:
    """Each with its ordinary and its endless replies; as many at once as there are cores."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for both in pool.map(partial(_both, kind), seeds):
            yield from both


def _both(kind: str, seed: int) -> list[Trial]:
    with tempfile.TemporaryDirectory(prefix="tidepool-plans-") as folder:
        return [trial(kind, seed, endless=endless, folder=Path(folder)) for endless in (False, True)]


def prove(studies: int = STUDIES) -> Iterator[Measurement]:
    for kind in KINDS:
        found = list(trials(kind, range(studies)))
        ordinary = [one for one in found if not one.endless]
        words = kind.replace("_", " ")
        over = sum(not one.kept for one in found)
        yield at_most(f"{words}: runs above the maximum of their plan, of {len(found)}", over, "runs", 0)
        share = sum(one.near for one in ordinary) / len(ordinary)
        count = sum(one.shortened for one in ordinary)
        shortened = f", or less if a stop rule ended the run early ({count} of {len(ordinary)})" if count else ""
        yield at_least(f"{words}: requests and cost within 25 % of the plan{shortened}", share, "of runs", 0.9)
