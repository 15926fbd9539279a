"""Commands forked from a process that has the heavy packages loaded already."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

LOADED = (
    "tests.support.warm",
    "tidepool.tui.command.main",
    "tidepool.tui.command.commands.run",
    "tidepool.tui.command.commands.read",
    *("numpy", "numpy.random", "genai_prices", "genai_prices.data", "openai", "anthropic", "httpcore2"),
    *(f"tidepool.engine.providers.{name}" for name in ("openai", "anthropic", "ollama")),
    *(
        f"tidepool.engine.studies.{kind}.{part}"
        for kind in ("secret_game", "simulation", "evolution", "mutation")
        for part in ("config", "study", "story", "statistics")
    ),
)
"""each import that a command finds done here is one that hundreds of them need not do"""


def run(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> "subprocess.CompletedProcess[str]":
    """`tidepool ARGUMENTS` in that folder with that environment, to its end."""
    return _forked(_command, ["tidepool", *arguments], folder, environment, seconds)


def run_program(
    text: str, folder: Path, environment: Mapping[str, str], seconds: float
) -> "subprocess.CompletedProcess[str]":
    """`python -c TEXT`, likewise."""
    return _forked(_program, ["-c", text], folder, environment, seconds)


def _forked(
    target: Callable[[], None], words: list[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> "subprocess.CompletedProcess[str]":
    with tempfile.TemporaryDirectory() as said:
        out, err = Path(said, "stdout"), Path(said, "stderr")
        process = _context().Process(target=_begun, args=(target, words, folder, dict(environment), out, err))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, seconds, out.read_bytes(), err.read_bytes())
        code = process.exitcode
        process.close()
        return subprocess.CompletedProcess(words, code, out.read_text("utf-8"), err.read_text("utf-8"))


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(LOADED))
    return context


def _begun(
    target: Callable[[], None], words: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for place, (path, mode) in enumerate(((Path(os.devnull), os.O_RDONLY), (out, os.O_WRONLY), (err, os.O_WRONLY))):
        os.dup2(os.open(path, mode | os.O_CREAT), place)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = words
    try:
        target()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _command() -> None:
    from tidepool.tui.command.main import main

    sys.exit(main())


def _program() -> None:
    exec(compile(sys.argv[1], "<string>", "exec"), {"__name__": "__main__"})
