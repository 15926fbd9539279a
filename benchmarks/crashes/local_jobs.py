"""kill -9 of a study whose waves are local jobs, at every step of a job's life, and of the jobs themselves; outputs of every kind.

The program is the stand-in of the test suite, which has the arguments and files of `vllm run-batch`, and notes in a book of its
own each start and each call: that is the witness.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from tests.engine.providers.local_jobs.lab import CALLS, CONVERSATIONS, MESSAGES, Lab, until
from tidepool.engine.bench.figures import Measurement, at_least, at_most
from tidepool.engine.providers.local_jobs.folder import JobFolder

RANDOM_KILLS = 10
BROKEN = float("inf")
STEPS = {
    "before a job's intent is written": "before-intent",
    "between intent and upload": "after-intent",
    "between upload and start": "before-create",
    "while it is started": "while-starting",
    "once it is started, and not written down": "before-book",
    "while its answers are recorded": "while-recording",
}
SPOILT = {
    "that breaks off in the middle of a line": ("half", 7),
    "to calls of others": ("foreign", CONVERSATIONS),
    "without every second call": ("missing", CONVERSATIONS // 2),
    "with every line twice": ("doubled", 0),
    "with lines that cannot be read": ("garbage", 0),
    "of doubled, foreign, unreadable and huge lines": ("mess", CONVERSATIONS // 2),
    "without a line": ("empty", CONVERSATIONS),
    "that is whole, and exit code 3": ("code", 0),
}
"""orders to the stand-in, and how many calls have no answer then that could be read"""


def prove() -> Iterator[Measurement]:
    for step, moment in STEPS.items():
        yield _too_many(f"a run is killed {step}", lambda lab, moment=moment: lab.killed_at(moment))  # type: ignore[misc]
    for words, act, allowed in ACTS:
        yield _too_many(words, act, allowed)
    rng = Random("local jobs")
    kills = [_killed_in_time(rng) for _ in range(RANDOM_KILLS)]
    good = sum(kill.met for kill in kills)
    yield at_least("a run is killed at random moments, and each job was started once", good, "", RANDOM_KILLS)
    for words, (order, unanswered) in SPOILT.items():
        with _lab() as lab:
            lab.order(order, "3")
            again = (
                len((lab.book / "calls").read_text().splitlines()) - CALLS
                if _completes(lab, "--run", lab.study())
                else BROKEN
            )
            yield at_most(f"an output {words}: calls asked again though they had an answer", again - unanswered, "", 0)


def _too_many(words: str, act: Callable[[Lab], object], allowed: int = 0) -> Measurement:
    """Jobs started beyond those needed, where every call is answered once after a resume."""
    with _lab() as lab:
        try:
            needed = act(lab) or MESSAGES
            lab.obey("hold")
            whole = _completes(lab, "--resume", "last")
        except (AssertionError, ValueError, OSError) as error:
            print(f"{words}: {error}", file=sys.stderr)
            whole, needed = False, 0
        started = len(lab.starts) - int(str(needed)) if whole else BROKEN
    return at_most(f"{words}: jobs started beyond those needed", started, "", allowed)


@contextmanager
def _lab() -> Iterator[Lab]:
    before = os.environ.get("TIDEPOOL_STATE")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        os.environ["TIDEPOOL_STATE"] = str(Path(name) / "state")
        lab = Lab.within(Path(name))
        try:
            yield lab
        finally:
            lab.obey("hold")
            for _, job in lab.starts:
                JobFolder(job).kill()
            os.environ.pop("TIDEPOOL_STATE") if before is None else os.environ.update(TIDEPOOL_STATE=before)


def _completes(lab: Lab, *arguments: str) -> bool:
    summary = lab.summary(*arguments)
    calls = summary["calls"]
    return bool(summary["status"] == "completed" and calls["total"] == CALLS and calls["failed"] == 0)


# -- what happens ------------------------------------------------------------------------------------------------


def _while_it_waits(lab: Lab) -> int:
    lab.killed_while_a_job_runs(batch_size=CONVERSATIONS // 2)
    return 2 * MESSAGES


def _once_it_is_over(lab: Lab) -> None:
    lab.killed_while_a_job_runs()
    lab.obey("hold")
    until(lambda: _first(lab).code is not None)


def _keeper_killed(lab: Lab) -> None:
    lab.killed_while_a_job_runs()
    os.kill(_keeper(lab), signal.SIGKILL)
    lab.obey("hold")
    until(lambda: not _first(lab).alive)


def _job_killed(lab: Lab) -> None:
    lab.killed_while_a_job_runs()
    os.killpg(_keeper(lab), signal.SIGKILL)


def _folder_missed(lab: Lab) -> None:
    _once_it_is_over(lab)
    jobs, elsewhere = lab.folder / "state" / "jobs", lab.folder / "elsewhere"
    jobs.rename(elsewhere)
    done = lab.run("--resume", "last")
    assert done.returncode == 1 and "another machine" in done.stderr and len(lab.starts) == 1
    elsewhere.rename(jobs)


def _stopped_stubbornly(lab: Lab) -> None:
    lab.order("hold")
    lab.order("stubborn")
    with lab.run.start("--run", lab.study(), "--on-stop", "cancel") as process:
        until(lambda: lab.starts and lab.open_jobs)
        process.terminate()
        process.communicate(timeout=60)
    until(lambda: not _first(lab).alive)


class TooLate(Exception):
    """The run was over before it could be killed."""


def _killed_in_time(rng: Random) -> Measurement:
    while True:
        with suppress(TooLate):
            return _too_many("at a random moment", lambda lab: _kill_somewhen(lab, rng))


def _kill_somewhen(lab: Lab, rng: Random) -> None:
    """Soon after a job has begun: it is at work, over, or its answers are being written."""
    wave = rng.randrange(MESSAGES)
    with lab.run.start("--run", lab.study()) as process:
        until(lambda: len(lab.starts) > wave)
        time.sleep(rng.random() * 0.15)
        process.kill()
    if lab.run.json("list")[0]["status"] == "completed":
        raise TooLate


def _first(lab: Lab) -> JobFolder:
    return JobFolder(lab.starts[0][1])


def _keeper(lab: Lab) -> int:
    return int(_first(lab).claim["pid"])


ACTS: list[tuple[str, Callable[[Lab], object], int]] = [
    ("a run is killed while a job runs", Lab.killed_while_a_job_runs, 0),
    ("a run is killed while a job waits for its turn", _while_it_waits, 0),
    ("a run is killed, and its job is over before anybody looks", _once_it_is_over, 0),
    ("run and keeper are killed, and the program goes on", _keeper_killed, 0),
    ("the job's folder is not there, and comes back", _folder_missed, 0),
    ("run, keeper and program are killed", _job_killed, 1),
    ("a run is stopped with --on-stop cancel, and its program does not heed it", _stopped_stubbornly, 1),
]
"""words, what happens, and how many jobs have to be started again for it"""


if __name__ == "__main__":
    for figure in prove():
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.value:g}  {figure.name}", flush=True)
