"""Where a path such as `secret_game.mode`, `agents.Ada.model` or `agents.*.instructions` leads in the data of a config.

Agents and entities are found by name, `*` is all of them. A part with dots in it can be quoted: `agents."Dr. Who".model`.
"""

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from tidepool.engine.errors import UsageError

_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')
ALL = "*"


def put_at(data: dict[str, Any], path: str, value: Any) -> None:
    """Writes the value wherever the path leads; sections that are missing are made."""
    for container, key in list(_places(data, path, path)):
        container[key] = value


def format_key(key: str) -> str:
    """The key as TOML writes it."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def section_of(path: str) -> str:
    """The section that the path begins with, however it is written."""
    return _first(path, path)[0]


def _places(data: Any, rest: str, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(data, list):
        for one, behind in _named(data, rest, path):
            yield from _places(one, behind, path)
        return
    part, behind = _first(rest, path)
    if not isinstance(data, dict):
        raise UsageError(f"{path} leads nowhere: there is nothing within {part!r}.")
    if not behind:
        yield data, part
        return
    if part in ("agents", "entities") and not isinstance(data.get(part), list):
        raise UsageError(f"{path} leads nowhere: the config has no [[{part}]].")
    yield from _places(data.setdefault(part, {}), behind, path)


def _named(items: list[Any], rest: str, path: str) -> Iterator[tuple[Any, str]]:
    """The item whose name stands first, the longest that fits: a name may hold dots."""
    names = [str(one.get("name", "")) for one in items if isinstance(one, dict)]
    if rest == ALL or rest.startswith(f"{ALL}."):
        name, behind = ALL, rest[2:]
    else:
        fits = [one for one in names if rest == one or rest.startswith(f"{one}.")]
        if fits:
            name = max(fits, key=len)
            behind = rest[len(name) + 1 :]
        else:
            name, behind = _first(rest, path)
    if not behind:
        whose = path.removesuffix(rest)
        raise UsageError(
            f"{path} names all of {name!r}, not one of its keys."
            if name in (ALL, *names)
            else f"{path} says not whose: write {whose}{names[0] if names else 'NAME'}.{rest}, or {whose}*.{rest} for all."
        )
    if name != ALL and name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(names[:10]) or 'none'}."
        raise UsageError(f"{path}: nobody is called {name!r}.{hint}")
    for one in items:
        if isinstance(one, dict) and name in (ALL, one.get("name")):
            yield one, behind


def _first(rest: str, path: str) -> tuple[str, str]:
    found = _PART.match(rest)
    part = "" if found is None else (re.sub(r"\\(.)", r"\1", found[1]) if found[1] is not None else found[2]).strip()
    behind = "" if found is None else rest[found.end() :]
    if not part or (behind and not behind.startswith(".")) or behind == ".":
        raise UsageError(f"{path!r} is no path of keys such as service.max_concurrent or agents.Ada.model.")
    return part, behind[1:]
