"""Runs a user's scorer in a separate process: reads a line of JSON for each reply and writes a line of JSON.

The file is read once, and only this content runs, if it has the expected hash. Output that the scorer prints is discarded. An
alarm ends the process if one reply takes too long, even if its parent is gone.
"""

import inspect
import json
import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

LONGEST = 500
"""how many characters of an error are shown"""
MOST_METRICS = 50
LONGEST_NAME = 60


def main() -> None:
    path, function, expected, seconds = Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
    requests, answers = _own_pipes()
    sys.path.insert(0, str(path.parent))
    try:
        score, wants_problem = load_scorer(path, function, expected)
    except BaseException as error:
        _send(answers, {"error": _words(error)})
        return
    _send(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        arguments = [request["reply"], request["answer"], *([request["problem"]] if wants_problem else [])]
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            response = marks(score(*arguments))
        except BaseException as error:
            response = {"error": _words(error)}
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, response)


def _own_pipes() -> tuple[Any, Any]:
    """Takes over stdin and stdout: a scorer gets no keyboard input, and its printed output is discarded."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    return requests, answers


def _send(answers: Any, response: dict[str, Any]) -> None:
    answers.write(json.dumps(response).encode() + b"\n")
    answers.flush()


def load_scorer(path: Path, function: str, expected: str) -> tuple[Callable[..., Any], bool]:
    """The function, and whether it takes the problem too."""
    source = path.read_bytes()
    if sha256(source).hexdigest() != expected:
        raise ValueError("the file was changed after the batch was made")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(source, str(path), "exec"), module.__dict__)
    score = getattr(module, function)
    if not callable(score) or inspect.iscoroutinefunction(score):
        raise TypeError(f"{function} must be a function and must not be async")
    signature = inspect.signature(score)
    for arguments in (3, 2):
        with suppress(TypeError):
            signature.bind(*range(arguments))
            return score, arguments == 3
    raise TypeError(f"{function} must take (reply, answer) or (reply, answer, problem)")


def marks(returned: Any) -> dict[str, Any]:
    """A bool, a number from 0 to 1, or a dictionary of numbers with a "score", as {"score", "correct", "metrics"}."""
    if not isinstance(returned, dict):
        value = _plain(returned)
        return {"score": _share(value), "correct": value if isinstance(value, bool) else None, "metrics": {}}
    if "score" not in returned:
        raise ValueError(f'its dictionary has no "score", only {", ".join(map(str, returned))[:100] or "nothing"}')
    if len(returned) > MOST_METRICS:
        raise ValueError(f"it returned {len(returned)} metrics, but at most {MOST_METRICS} are allowed")
    values = {str(name)[:LONGEST_NAME]: _plain(value) for name, value in returned.items()}
    score, correct = _share(values.pop("score")), values.pop("correct", None)
    if correct not in (None, True, False):
        raise TypeError('"correct" must be true or false')
    return {"score": score, "correct": correct, "metrics": {name: _number(name, one) for name, one in values.items()}}


def _share(value: Any) -> float:
    if not 0 <= (number := _number("the score", value)) <= 1:
        raise ValueError(f"the score is {number}, but must be from 0 to 1")
    return number


def _number(name: str, value: Any) -> float:
    if not isinstance(value, bool | int | float):
        raise TypeError(f"{name} is of the type {type(value).__name__}, but must be true, false or a number")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {float(value)}")
    return float(value)


def _plain(value: Any) -> Any:
    """Converts numbers of numpy and torch to Python's own."""
    return value.item() if hasattr(value, "item") else value


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST]


if __name__ == "__main__":
    main()
