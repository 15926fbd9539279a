"""Hides API keys in text: on its way into a study file (`text.storable`) and on its way out (`plain_text`).

A key is the value of an environment variable that a study names as one (`watch`), or whose name ends as those of keys do.
The values are read when `watch` is called, at the start of every command and run, since looking through the environment
for every line would cost more than the line.
"""

import json
import os
import re
from collections.abc import Iterable
from os.path import commonprefix

HIDDEN = "[key]"
SHORTEST = 12
"""characters: shorter values are placeholders such as "ollama" or "not-needed", which are also words of a text"""
_HEAD = 16
"""characters by which a key is recognised: an error or a name may be cut in the middle of one"""
_NAMES_OF_KEYS = re.compile(r"(?:\A|_|API)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE)

_watched: set[str] = set()
_values: tuple[str, ...] = ()


def watch(variables: Iterable[str] = ()) -> None:
    """From now on the values of these variables are keys too."""
    global _values
    _watched.update(variables)
    found = (value for name, value in os.environ.items() if name in _watched or _NAMES_OF_KEYS.search(name))
    values = {value.strip() for value in found if len(value.strip()) >= SHORTEST}
    escaped = {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}  # as JSON has it
    _values = tuple(sorted(values | escaped, key=len, reverse=True))


def mask(text: str) -> str:
    """The text without any key, nor the beginning of one that was cut off. Cheap: every reply and every line on a screen
    passes here."""
    for value in _values:
        head = value[:_HEAD]
        if head in text:
            first, *rest = text.split(head)
            text = first + "".join(HIDDEN + after[len(commonprefix((after, value[_HEAD:]))) :] for after in rest)  # noqa: RUF071 (text, no paths)
    return text


def variables_in(text: str) -> list[str]:
    """The variables whose keys the text, or JSON, holds."""
    keys = {name: value.strip() for name, value in os.environ.items() if value.strip() in _values}
    return [name for name, key in keys.items() if key in text or json.dumps(key, ensure_ascii=False)[1:-1] in text]


watch()
