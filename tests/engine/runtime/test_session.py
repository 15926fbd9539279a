"""What a batch's turn leaves in the file: its state, the reason for people, and the code for programs."""

from pathlib import Path

import pytest

from tests.support.stage import Stage, question, talk, units
from tidepool.engine.errors import RunError
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.session import RunControl, SessionOutcome, SessionVerdict, Stop, verdict
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.states import BatchStatus, StopCode

FAULT = RunError("no key")


@pytest.mark.parametrize(
    ("outcome", "counts", "expected"),
    [
        (SessionOutcome(None), (5, 2, 0), SessionVerdict(BatchStatus.COMPLETED)),
        (SessionOutcome(None), (5, 1, 1), SessionVerdict(BatchStatus.PARTIAL)),
        (SessionOutcome(None), (5, 0, 2), SessionVerdict(BatchStatus.FAILED)),
        (
            SessionOutcome(None, "stagnation"),
            (5, 2, 0),
            SessionVerdict(BatchStatus.COMPLETED, "stagnation", StopCode.RULE),
        ),
        (
            SessionOutcome(Stop(StopCode.BUDGET)),
            (5, 2, 0),
            SessionVerdict(BatchStatus.INTERRUPTED, "budget", StopCode.BUDGET),
        ),
        (
            SessionOutcome(Stop(StopCode.BUDGET)),
            (0, 0, 0),
            SessionVerdict(BatchStatus.INTERRUPTED, "budget", StopCode.BUDGET),
        ),
        (
            SessionOutcome(Stop(StopCode.SIGNAL, "signal SIGINT"), "stagnation"),
            (5, 2, 1),
            SessionVerdict(BatchStatus.INTERRUPTED, "signal SIGINT", StopCode.SIGNAL),
        ),
        (
            SessionOutcome(Stop(StopCode.FAULT, fault=FAULT)),
            (5, 2, 0),
            SessionVerdict(BatchStatus.INTERRUPTED, "no key", StopCode.FAULT),
        ),
        (
            SessionOutcome(Stop(StopCode.FAULT, fault=FAULT)),
            (0, 0, 0),
            SessionVerdict(BatchStatus.FAILED, "no key", StopCode.FAULT),
        ),
    ],
)
def test_the_state_of_a_batch_follows_from_what_stopped_it_and_what_it_has(
    outcome: SessionOutcome, counts: tuple[int, int, int], expected: SessionVerdict
) -> None:
    calls, completed, failed = counts
    assert verdict(outcome, calls=calls, completed=completed, failed=failed) == expected


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
