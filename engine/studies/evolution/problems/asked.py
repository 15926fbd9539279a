"""One row becomes one problem: which columns are its question, its answer and its choices."""

import json
import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.replies import clean
from tidepool.engine.studies.evolution.problems.rows import Row, columns_in_words

FIELD_LETTERS, ALL_FIELDS_LETTERS = 20_000, 60_000
"""of what a problem keeps of its other columns, as JSON: of one, and of all of them"""
_DEEPEST = 30
_NOTHING = object()
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A row, read: what is shown and what is expected, before choices are shown and the rest is kept."""

    where: str
    question: str
    answer: str
    choices: Any
    """as the row has them; None: it has none"""
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """What a config says about the columns of its files."""

    fields: Mapping[str, str] = field(default_factory=dict)
    template: str = ""
    answered: bool = True
    """every problem must have an answer"""
    worked: bool = True
    """an answer may be a worked one, as GSM8K's: what follows #### is the answer"""

    @property
    def key(self) -> Hashable:
        """Columns with the same read the same of a file."""
        return tuple(sorted(self.fields.items())), self.template, self.answered, self.worked

    def read(self, row: Row) -> Asked:
        question = self._templated(row) if self.template else self._text(row, "question")
        choices = self._choices(row)
        for name, path in self._others.items():
            if _at(row.values, path) is _NOTHING:
                raise UsageError(_no_column(row, name, path), ("fields",))
        return Asked(row.where, _fitting(question, "question", row), self._answer(row), choices, row.values)

    @property
    def _others(self) -> dict[str, str]:
        return {name: path for name, path in self.fields.items() if name not in ("question", "answer", "choices")}

    def rest(self, asked: Asked) -> tuple[dict[str, Any], list[str]]:
        """The other columns, as far as they can be kept, and the names of those that cannot."""
        used = self._used()
        kept: dict[str, Any] = {}
        left_out, room = [], ALL_FIELDS_LETTERS
        wanted = {} if asked.choices is None else {"choices": asked.choices}
        wanted |= {name: value for name, value in asked.values.items() if name not in used}
        wanted |= {name: _at(asked.values, path) for name, path in self._others.items()}
        whole = _at(asked.values, self.fields.get("answer", "answer"))
        if self.worked and isinstance(whole, str) and (working := whole.rpartition("####")[0].strip()):
            wanted.setdefault("solution", working)
        for name, value in wanted.items():
            plain = _plain(value)
            size = len(json.dumps(plain, ensure_ascii=False)) if plain is not _NOTHING else room + 1
            if size > min(room, FIELD_LETTERS) or len(name) > ceilings.WORD:
                left_out.append(name)
            elif plain is not None:
                kept[clean(name)] = plain
                room -= size
        return kept, left_out

    def _used(self) -> set[str]:
        """Columns that are in the question or the answer already; those of a template may be wanted apart, too."""
        paths = [self.fields.get(name, name) for name in ("question", "answer", "choices", "options")]
        parts = [part.strip() for path in paths for part in (path, *path.split(","))]
        return {*parts, *(part.partition(".")[0] for part in parts)}

    def _templated(self, row: Row) -> str:
        def filled(found: re.Match[str]) -> str:
            if found[1] is None:
                return found[0][0]
            value = _at(row.values, found[1].strip())
            if value is _NOTHING:
                told = f"{row.where}: evolution.question_template names {{{found[1]}}}, but there is no such column"
                raise UsageError(f"{told}. It has {columns_in_words(row.values)}.", ("question_template",))
            return _written(value)

        return _PLACEHOLDER.sub(filled, self.template)

    def _answer(self, row: Row) -> str:
        if not self.answered and "answer" not in self.fields and "answer" not in row.values:
            return ""
        text = _fitting(self._text(row, "answer"), "answer", row)
        if not self.worked:
            return text
        final = text.rpartition("####")[2].strip()
        if not final:
            raise UsageError(f"{row.where}: nothing follows the #### in the answer.")
        return final

    def _text(self, row: Row, name: str) -> str:
        path = self.fields.get(name, name)
        value = _at(row.values, path)
        if value is _NOTHING:
            raise UsageError(_no_column(row, name, path), ("fields",) if name in self.fields else ())
        if value is None:
            raise UsageError(f'{row.where}: "{path}" is empty (null).')
        if isinstance(value, list | Mapping):
            place = "0" if not isinstance(value, Mapping) else next(iter(value), "text")
            told = f'{row.where}: "{path}" must be text or a number, and is a {"list" if place == "0" else "table"}'
            raise UsageError(
                f'{told}. Name one place in it, e.g. fields = {{ {name} = "{path}.{place}" }}.', ("fields",)
            )
        text = _written(value).strip()
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f'{row.where}: "{path}" must be text or a number.')
        if not text:
            raise UsageError(f'{row.where}: "{path}" is empty.')
        return text

    def _choices(self, row: Row) -> Any:
        if (path := self.fields.get("choices")) is None:
            return row.values.get("choices", row.values.get("options"))
        value = _at(row.values, path)
        if value is _NOTHING and "," in path:
            parts = {name: _at(row.values, name) for name in map(str.strip, path.split(","))}
            path = next((name for name, part in parts.items() if part is _NOTHING), path)
            value = value if path in parts and parts[path] is _NOTHING else list(parts.values())
        if value is _NOTHING:
            raise UsageError(_no_column(row, "choices", path), ("fields",))
        return value


def _no_column(row: Row, name: str, path: str) -> str:
    told = f'{row.where}: no "{path}". It has {columns_in_words(row.values)}'
    if name == path:
        return (
            f'{told}. Say which column it is: fields = {{ {name} = "…" }}; the first line of a table names its columns.'
        )
    return f"{told}."


def _at(values: Mapping[str, Any], path: str) -> Any:
    """A column by its name, or a place inside one: answers.text.0."""
    if path in values:
        return values[path]
    found: Any = values
    for part in path.split("."):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal():
            found = found[int(part)] if int(part) < len(found) else None
        else:
            return _NOTHING
    return found


def _written(value: Any) -> str:
    """As it stands in a question: text as it is, the rest as JSON would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    plain = _plain(value)
    return plain if isinstance(plain, str) else "" if plain is _NOTHING else json.dumps(plain, ensure_ascii=False)


def _fitting(text: str, name: str, row: Row) -> str:
    if len(text) > ceilings.TEXT:
        raise UsageError(f"{row.where}: its {name} has {len(text):,} letters, and {ceilings.TEXT:,} are the most.")
    if not text.strip():
        raise UsageError(f"{row.where}: its {name} is empty.")
    return clean(text)


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as a batch's config keeps it; _NOTHING where it is nested too deeply."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth == _DEEPEST:
        return _NOTHING
    if isinstance(value, Mapping):
        inner = {clean(str(name)): _plain(one, depth + 1) for name, one in value.items()}
        return _NOTHING if _NOTHING in inner.values() else inner
    items = [_plain(one, depth + 1) for one in value]
    return _NOTHING if any(one is _NOTHING for one in items) else items
