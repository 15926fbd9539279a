"""What a batch's turn leaves in the file: its state, the reason for people, and the code for programs."""

from pathlib import Path

import pytest

from tests.support.stage import Stage, question, talk, units
from tidepool.engine.errors import RunError
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.session import RunControl, SessionOutcome, Stop, verdict
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.states import StopCode

BUDGET, SIGNAL = Stop(StopCode.BUDGET), Stop(StopCode.SIGNAL, "signal SIGINT")
FAULTY = Stop(StopCode.FAULT, fault=RunError("no key"))
VERDICTS = [  # what stopped it, the study's own reason, (calls, completed, failed) → status, reason, code
    (None, None, (5, 2, 0), ("completed", None, None)),
    (None, None, (5, 1, 1), ("partial", None, None)),
    (None, None, (5, 0, 2), ("failed", None, None)),
    (None, "stagnation", (5, 2, 0), ("completed", "stagnation", "rule")),
    (BUDGET, None, (5, 2, 0), ("interrupted", "budget", "budget")),
    (BUDGET, None, (0, 0, 0), ("interrupted", "budget", "budget")),
    (SIGNAL, "stagnation", (5, 2, 1), ("interrupted", "signal SIGINT", "signal")),
    (FAULTY, None, (5, 2, 0), ("interrupted", "no key", "fault")),
    (FAULTY, None, (0, 0, 0), ("failed", "no key", "fault")),
]


@pytest.mark.parametrize(("stop", "reason", "counts", "expected"), VERDICTS)
def test_the_state_of_a_batch_follows_from_what_stopped_it_and_what_it_has(
    stop: Stop | None, reason: str | None, counts: tuple[int, int, int], expected: tuple[str, str | None, str | None]
) -> None:
    calls, completed, failed = counts
    ended = verdict(SessionOutcome(stop, reason), calls=calls, completed=completed, failed=failed)
    assert ended == expected


def _kept(database: Path) -> tuple[str, str | None, str | None]:
    with reading(database) as connection:
        batch = find_batch(connection, "last")
    return batch["status"], batch["reason"], batch["stop_code"]


async def test_the_stop_is_kept_as_a_code_and_a_resume_forgets_it(stage: Stage) -> None:
    control = RunControl()

    async def play(run: BatchRun) -> None:
        await units(2, talk(1))(run)
        control.stop_for(StopCode.SIGNAL, "signal SIGTERM")
        await run.study.ask(question("never asked"))

    await stage.run(play, control=control)
    assert _kept(stage.database) == ("interrupted", "signal SIGTERM", "signal")
    await stage.resume(units(2, talk(1)))
    assert _kept(stage.database) == ("completed", None, None)
