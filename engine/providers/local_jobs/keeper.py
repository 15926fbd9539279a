"""Keeps one job: a program of its own, which outlives the study that starts it, and needs nothing but Python.

    python keeper.py FOLDER TURNS NUMBER COMMAND…

It claims the folder, which succeeds once, waits until fewer than NUMBER jobs of the same TURNS run, runs the command, and
writes its exit code. The claim appears locked, and stays so as long as keeper or command lives: no number of a process has
to be believed. What started it waits only until the folder is claimed.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CLAIM, STARTED, CANCELLED, RC, LOG = "claim", "started", "cancelled", "rc", "log"
CLAIMED, TAKEN = 0, 3
"""exit codes for who started it"""
WAIT = 0.1
GRACE = 5
"""seconds between asking a job to end and ending it"""


def claim(folder: Path, words: dict[str, object]) -> int | None:
    """The open claim; None where somebody has claimed the folder already."""
    mine = folder / f"{CLAIM}.{os.getpid()}"
    descriptor = os.open(mine, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(words).encode())
        os.fsync(descriptor)
        os.link(mine, folder / CLAIM)
    except FileExistsError:
        os.close(descriptor)
        return None
    finally:
        mine.unlink()
    return descriptor


def place() -> dict[str, object]:
    """Where and when this process lives: enough to tell it from another of its number."""
    pid = os.getpid()
    return {"pid": pid, "host": os.uname().nodename, "boot": boot(), "began": began(pid)}


def boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def began(pid: int) -> str:
    """Empty: there is no such process, or this system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _turn(folder: Path, turns: str, number: int) -> int | None:
    """A place among those that run; None: the job was cancelled before it had one."""
    while not (folder / CANCELLED).exists():
        for one in range(number):
            descriptor = os.open(f"{turns}.{one}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except OSError:
                os.close(descriptor)
        time.sleep(WAIT)
    return None


def _ran(folder: Path, command: list[str], held: tuple[int, ...]) -> int:
    (folder / STARTED).touch()
    try:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=held) as process:
            return process.wait()
    except OSError as error:
        print(f"{command[0]} cannot be run: {error}", file=sys.stderr, flush=True)
        return 127


def _keep(folder: Path, turns: str, number: int, command: list[str], told: int) -> None:
    os.setsid()
    # For the command: the keeper still has to write how it ended, or to end what does not heed it.
    signal.signal(signal.SIGTERM, lambda *_: signal.alarm(GRACE) if (folder / CANCELLED).exists() else None)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
    claimed = claim(folder, place())
    if claimed is None:
        os.write(told, bytes([TAKEN]))
        return
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.write(told, bytes([CLAIMED]))
    os.close(told)
    turn = _turn(folder, turns, number)
    code = -signal.SIGTERM if turn is None else _ran(folder, command, (claimed, turn))
    part = folder / f"{RC}.part"
    with part.open("w") as file:
        file.write(str(int(code)))
        file.flush()
        os.fsync(file.fileno())
    part.rename(folder / RC)


def main() -> int:
    folder, turns, number, *command = sys.argv[1:]
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        said = os.read(reading, 1)
        return said[0] if said else 1
    os.close(reading)
    _keep(Path(folder), turns, int(number), command, writing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
