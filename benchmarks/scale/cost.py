"""What a process costs, as the kernel counted it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

COMMAND = (sys.executable, "-m", "tidepool")
MOST_MEMORY = 900
"""MB that anything may take, of a million conversations"""


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float
    memory: float
    """MB at most"""


def cost_of(command: Sequence[str]) -> Cost:
    return cost_of_started(started(command))


def started(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def cost_of_started(process: "subprocess.Popen[bytes]") -> Cost:
    """To its end."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
