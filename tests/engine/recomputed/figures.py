"""Statistics as one flat table, so that two of them can be compared."""

from collections.abc import Iterator, Mapping
from typing import Any

NAMED_BY = ["agents measure question", "outcome contrast", "contrast", "levels", "value", "agent", "update"]
"""keys that name a row among the rows of a list"""


def flat(node: Any, path: str = "") -> dict[str, Any]:
    """By path, such as `agents.Ada.score_mean`."""
    return dict(_leaves(node, path))


def _leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield from _leaves(value, f"{path}.{name}" if path else str(name))
    elif isinstance(node, list | tuple) and node and all(isinstance(row, Mapping) for row in node):
        for place, row in enumerate(node):
            keys = next((keys for keys in map(str.split, NAMED_BY) if row.keys() >= set(keys)), ())
            yield from _leaves(row, f"{path}[{', '.join(_words(row[key]) for key in keys) or place}]")
    else:
        yield path, list(node) if isinstance(node, tuple) else node


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(map(str, value.values()))
    return " – ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def is_figure(value: Any) -> bool:
    """A number, or the two ends of an interval."""
    if isinstance(value, list):
        return len(value) == 2 and all(map(is_figure, value))
    return isinstance(value, int | float) and not isinstance(value, bool)
