"""Small tasks of programming that the simulated solver can do, for studies with code as an answer: it writes a function that is
right, or one with a usual mistake, or talks without writing any.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tidepool.engine.simulated.dice import Dice
from tidepool.engine.simulated.evolution.landscape import chance
from tidepool.engine.simulated.reply import SimulatedReply

SIZES = (2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class ToyTask:
    name: str
    """of the function"""
    parameter: str
    asked: str
    """what it returns; K stands for a size"""
    right: str
    """the line that returns it"""
    wrong: tuple[str, ...]
    level: int
    inputs: tuple[str, ...]
    """what its tests call it with"""


TASKS = (
    ToyTask(
        "sum_of_multiples",
        "n",
        "the sum of all whole numbers from 1 to n, n included, that can be divided by K",
        "return sum(i for i in range(1, n + 1) if i % K == 0)",
        ("return sum(i for i in range(1, n) if i % K == 0)", "return sum(range(K, n))"),
        2,
        ("10", "12", "60", "0", "1"),
    ),
    ToyTask(
        "in_pieces",
        "items",
        "the list cut into pieces of K elements, the last one perhaps shorter",
        "return [items[i:i + K] for i in range(0, len(items), K)]",
        (
            "return [items[i:i + K] for i in range(0, len(items) - K, K)]",
            "return [items[i:i + K] for i in range(len(items))]",
        ),
        4,
        ("[1, 2, 3, 4, 5, 6, 7]", "[]", "[1]", "list('abcdefgh')"),
    ),
    ToyTask(
        "long_words",
        "text",
        "how many words of the text, parted by spaces, have more than K letters",
        "return sum(len(word) > K for word in text.split())",
        (
            "return sum(len(word) >= K for word in text.split())",
            "return sum(len(word) > K for word in text.split(' ')) + 1",
        ),
        3,
        ("'a bb ccc dddd eeeee ffffff'", "''", "'one three seven eleven'", "'  two   spaces  '"),
    ),
    ToyTask(
        "turned",
        "items",
        "the list turned to the right by K places, so that its last K elements come first; also where it is shorter than that, or empty",
        "return [items[(i - K) % len(items)] for i in range(len(items))]",
        ("return items[-K:] + items[:-K]", "return items[K:] + items[:K]"),
        5,
        ("[1, 2, 3, 4, 5, 6, 7]", "[]", "[1]", "[1, 2, 3]"),
    ),
    ToyTask(
        "largest_below",
        "numbers",
        "the largest of the numbers that is smaller than K, or None where there is none",
        "return max((n for n in numbers if n < K), default=None)",
        (
            "return max(n for n in numbers if n < K)",
            "return max((n for n in numbers if n <= K), default=None)",
            "return max((n for n in numbers if n < K), default=0)",
        ),
        3,
        ("[1, 2, 3, 4, 5, 6]", "[]", "[9, 8]", "[-3, -1]", "[2, 3, 4, 5]"),
    ),
    ToyTask(
        "shortened",
        "text",
        "the text where it has at most K letters, else its first K letters followed by three dots",
        "return text if len(text) <= K else text[:K] + '...'",
        ("return text[:K] + '...'", "return text if len(text) < K else text[:K] + '...'"),
        3,
        ("'a'", "'abcd'", "'abcdefgh'", "''", "'ab'", "'abc'", "'abcde'"),
    ),
    ToyTask(
        "at_most",
        "items",
        "the list without the occurrences of an element after its first K, in the same order",
        "return [item for i, item in enumerate(items) if items[:i].count(item) < K]",
        (
            "return [item for i, item in enumerate(items) if items[:i].count(item) <= K]",
            "return sorted(item for item in set(items) for _ in range(min(K, items.count(item))))",
        ),
        4,
        ("[3, 1, 1, 1, 1, 1, 1, 1, 3]", "[]", "list('bookkeeper')", "[2, 2, 1, 2, 2, 2, 2]"),
    ),
    ToyTask(
        "every",
        "items",
        "every K-th element of the list, the first one included",
        "return items[::K]",
        ("return items[K::K]", "return items[K - 1::K]"),
        2,
        ("[1, 2, 3, 4, 5, 6, 7]", "[]", "'abcdefghijkl'", "[1]"),
    ),
)
_OPENINGS = ("Here is the function.", "I go through it step by step and write it down.", "This does it:")
_SILENCE = ("I would need to know more about the input before I write anything.", "There are several ways to do this.")


def question_of(task: ToyTask, size: int) -> str:
    return f"Write a Python function {task.name}_{size}({task.parameter}) that returns {task.asked.replace('K', str(size))}."


def source_of(task: ToyTask, size: int, line: str) -> str:
    return f"def {task.name}_{size}({task.parameter}):\n    {line.replace('K', str(size))}\n"


@cache
def _known() -> dict[str, tuple[ToyTask, int]]:
    return {question_of(task, size): (task, size) for task in TASKS for size in SIZES}


def answered(model_name: str, system: str, question: str, seed: int) -> SimulatedReply | None:
    """None: this is none of these tasks. How often it is right follows the landscape's chances for words."""
    if (known := _known().get(question.strip())) is None:
        return None
    task, size = known
    dice = Dice(seed)
    right, silent = chance(model_name, system, "strings", task.level)
    draw = dice.unit()
    if right <= draw < right + silent:
        return SimulatedReply(dice.pick(_SILENCE), "silent")
    lines: Sequence[str] = (task.right,) if draw < right else task.wrong
    code = source_of(task, size, dice.pick(lines))
    return SimulatedReply(f"{dice.pick(_OPENINGS)}\n\n```python\n{code}```", "right" if draw < right else "wrong")
