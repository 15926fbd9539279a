"""Entities: a name, a description and typed attributes; checked, told in words, and read from JSON, TOML and CSV files.

Entities come from other people's files, so everything is checked here once, and every error says where: in words, and as the key within the
entity.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import parse_toml, read_text
from tidepool.engine.errors import UsageError

Attribute = bool | int | float | str

LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody who can take part in a simulation, or become an agent."""

    name: str
    """how transcripts call it; unique in a study"""
    description: str = ""
    """who that is, in a sentence or two"""
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)
    """anything else that is known: numbers, texts, true or false"""

    def __post_init__(self) -> None:
        """Checks what the check of a whole study would stumble over; that reports the rest."""
        checked_name(self.name, "Entity, name", "name")
        for key, kind, words in (("description", str, "text"), ("attributes", Mapping, "names and values")):
            if not isinstance(getattr(self, key), kind):
                raise UsageError(f"Entity, {key}: expected {words}.", (key,))

    def with_attribute(self, name: str, value: Attribute) -> "Entity":
        """The same entity with one attribute more, or another."""
        return replace(self, attributes={**self.attributes, name: value})

    def as_record(self) -> dict[str, object]:
        """What a JSON or TOML file, or a config's [[entities]], says about it."""
        return {"name": self.name, "description": self.description, "attributes": dict(self.attributes)}


# -- checking --------------------------------------------------------------------------------------------


def entity_from(record: object, where: str) -> Entity:
    """An entity out of a parsed file; `where` names the file and the place in it."""
    if not isinstance(record, Mapping):
        raise UsageError(f"{where}: an entity is a table with a name.")
    from tidepool.engine.config.problems import validated

    checked = validated(_record(), record, where)
    return Entity(checked.name, checked.description.strip(), checked.attributes)


def stored_entity(record: Mapping[str, Any]) -> Entity:
    """An entity of a frozen config, for whoever only reads: attributes of a changed file that are no values are left out."""
    attributes = {name: value for name, value in record["attributes"].items() if isinstance(value, Attribute)}
    return Entity(record["name"], record["description"], attributes)


def checked_name(name: object, where: str, *key: str) -> str:
    """The name without blanks around it; what is wrong with it is reported with its place."""
    try:
        return check_name(name)
    except ValueError as error:
        raise UsageError(f"{where}: {error}", key) from None


def check_name(name: object) -> str:
    """A name can stand before a colon in a transcript: one line of readable text."""
    if name is None or name == "":
        raise ValueError("the name is missing. Every entity needs one of its own.")
    if not isinstance(name, str):
        raise ValueError("a name is text. Put it in quotes.")
    tidy = name.strip()
    if not tidy:
        raise ValueError("the name is blank. Every entity needs one of its own.")
    if not tidy.isprintable():
        raise ValueError(f"the name {tidy!r} holds a line break or control character. Remove it.")
    if len(tidy) > LONGEST_NAME:
        raise ValueError(f"the name has {len(tidy)} characters, and {LONGEST_NAME} are the most.")
    return tidy


def check_text(text: object) -> str:
    """The text, if it is one that can be stored."""
    if not isinstance(text, str):
        raise ValueError("expected text.")
    if len(text) > ceilings.TEXT:
        raise ValueError(f"the text has {len(text):,} letters, and {ceilings.TEXT:,} are the most.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text holds half a character (a lone surrogate). Remove it.")
    return text


def _check_attribute(value: object) -> Attribute:
    if not isinstance(value, Attribute):
        raise ValueError("expected a number, text or true/false.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number one can compare. Leave it out.")
    return check_text(value) if isinstance(value, str) else value


def _without_nothing(value: object) -> object:
    """A null or an empty table says nothing about an entity."""
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value or {}


@cache
def _record() -> Any:
    """An entity as a file or a config writes it. Made when one is checked: reading results does without pydantic."""
    from pydantic import AfterValidator, BeforeValidator, Field

    from tidepool.engine.config.section import Section

    class Record(Section):
        other_names: ClassVar = " Anything of your own goes under attributes."

        name: Annotated[Any, AfterValidator(check_name)]
        description: Annotated[str, BeforeValidator(lambda text: text or ""), AfterValidator(check_text)] = ""
        attributes: Annotated[
            dict[Annotated[str, AfterValidator(check_name)], Annotated[Any, AfterValidator(_check_attribute)]],
            BeforeValidator(_without_nothing),
            Field(max_length=ceilings.ATTRIBUTES),
        ] = Field(default_factory=dict)
        id: Any = None
        """the library's own, and so is the type: a file that carries them is still fine"""
        type: Any = None

    return Record


def refuse_duplicates(entities: Iterable[Entity], where: str) -> None:
    """Refuses two entities of one name: they could not be told apart in a transcript, nor could Ada and ADA."""
    first: dict[str, str] = {}
    for index, entity in enumerate(entities):
        key = entity.name.casefold()
        if key in first:
            names = f"{entity.name!r}" + ("" if first[key] == entity.name else f" (and {first[key]!r})")
            raise UsageError(f"{where}: the entity {names} is there twice. Rename or remove one.", (index, "name"))
        first[key] = entity.name


# -- in words --------------------------------------------------------------------------------------------


def in_words(value: Attribute) -> str:
    """The value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


_DEGREES = ("very low", "low", "middling", "high", "very high")
_OF_TEN = frozenset(
    "openness conscientiousness extraversion agreeableness neuroticism courage cunning kindness magic appetite_for_risk "
    "trust_in_partners".split()
)


@lru_cache(maxsize=4096)
def portrait(title: str, entity: Entity) -> tuple[str, ...]:
    """Who somebody is, an attribute a line; line breaks inside would blur where one ends."""
    about = entity.description or entity.name
    lines = (f"- {attribute_in_words(*pair)}" for pair in entity.attributes.items())
    return tuple(" ".join(line.split()) for line in (f"{title}: {about}", *lines))


def attribute_in_words(name: str, value: Attribute) -> str:
    """The attribute with its unit or scale, where its name tells one."""
    label, words = name.replace("_", " "), in_words(value)
    if isinstance(value, bool | str):
        return f"{label}: {words}"
    if name in _OF_TEN and 0 <= value <= 10:
        return f"{label}: {words} of 10 ({_DEGREES[min(int(value / 2.01), 4)]})"
    return f"{label}: {words} years" if name == "age" else f"{label}: {words}"


# -- files -----------------------------------------------------------------------------------------------

FORM = 'An entity file is TOML: [[entities]] for each, and below it keys such as name = "Hypatia".'
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})\Z")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?\Z")


def read_entities(path: Path) -> list[Entity]:
    """All entities of a file; the ending says what it is."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml", ".csv", ".tsv"):
        raise UsageError(f"{path}: entities are read from .json, .toml and .csv files. Rename or convert it.")
    entities = _from_csv(path) if suffix in (".csv", ".tsv") else _from_tree(path)
    if not entities:
        raise UsageError(f"{path}: the file holds no entities.")
    refuse_duplicates(entities, str(path))
    return entities


def read_tree(path: Path) -> Any:
    """A JSON or TOML file as plain values."""
    text = read_text(path)
    if path.suffix.lower() == ".toml":
        return parse_toml(text, str(path), FORM)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        words = f"this is no valid JSON: {error.msg} (column {error.colno})."
        raise UsageError(f"{path}, line {error.lineno}: {words}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: this is no valid JSON: {error}.") from None


def _from_tree(path: Path) -> list[Entity]:
    records = _records(read_tree(path))
    if not isinstance(records, list):
        raise UsageError(f"{path}: expected a list of entities, or a list under the key 'entities'.")
    return [entity_from(record, f"{path}, entity {place}") for place, record in enumerate(records, 1)]


def _records(tree: Any) -> object:
    return tree.get("entities") if isinstance(tree, dict) else tree


def _from_csv(path: Path) -> list[Entity]:
    """One entity a row: the columns name and description, and every other column is an attribute."""
    rows = read_table(path, fixed=("name", "description"))
    columns = [name for name in (rows[0][1] if rows else ()) if name not in ("name", "description")]
    kinds = {name: _kind([cells[name] for _, cells in rows]) for name in columns}
    return [_from_row(cells, kinds, f"{path}, row {row}") for row, cells in rows]


def read_table(path: Path, fixed: Sequence[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a column 'name', each with its line; names in `fixed` may be in any capitals."""
    numbered = _rows(path)
    header = _header([cell.strip() for cell in numbered[0][1]], path, fixed)
    return [(row, _cells(cells, header, f"{path}, row {row}")) for row, cells in numbered[1:]]


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that hold anything, each with the line of the file it ends on."""
    text = read_text(path)
    first_line = text.partition("\n")[0]
    delimiter = max(",;\t", key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise UsageError(f"{path}, row {reader.line_num}: this is no valid CSV: {error}.") from None
    if not rows:
        raise UsageError(f"{path}: the file is empty. Its first row names the columns, one of them 'name'.")
    return rows


def _header(cells: list[str], path: Path, fixed: Sequence[str]) -> list[str]:
    if len(cells) > ceilings.COLUMNS:
        raise UsageError(f"{path}, row 1: {len(cells):,} columns, and {ceilings.COLUMNS:,} are the most.")
    header = [cell.casefold() if cell.casefold() in fixed else cell for cell in cells]
    for column, name in enumerate(header, 1):
        if not name:
            raise UsageError(f"{path}, row 1, column {column}: the column has no name. Give it one.")
        checked_name(name, f"{path}, row 1, column {column}")
        if header.index(name) < column - 1:
            raise UsageError(f"{path}, row 1, column {column}: the column {name!r} is there twice. Keep one.")
    if "name" not in header:
        raise UsageError(f"{path}, row 1: no column is called 'name'. Everybody needs one.")
    return header


def _cells(cells: list[str], header: Sequence[str], where: str) -> dict[str, str]:
    extra = next((place for place in range(len(header), len(cells)) if cells[place].strip()), None)
    if extra is not None:
        raise UsageError(
            f"{where}, column {extra + 1}: the row has more cells than the header ({len(header)}). "
            "Put text with a comma in double quotes."
        )
    padded = [*cells, *[""] * len(header)]
    return {name: cell.strip() for name, cell in zip(header, padded, strict=False)}


def _kind(cells: Sequence[str]) -> Callable[[str], Attribute]:
    """What a column holds, judged by all its cells: no attribute is a number here and text there."""
    filled = [cell for cell in cells if cell]
    if all(cell.casefold() in ("true", "false") for cell in filled):
        return lambda cell: cell.casefold() == "true"
    if all(_WHOLE.match(cell) for cell in filled):
        return int
    if all(_DECIMAL.match(cell) for cell in filled) and not any(re.match(r"[+-]?0[0-9]", cell) for cell in filled):
        return float
    return str


def _from_row(cells: dict[str, str], kinds: dict[str, Callable[[str], Attribute]], where: str) -> Entity:
    attributes = {name: kind(cells[name]) for name, kind in kinds.items() if cells[name]}
    return entity_from(
        {"name": cells["name"], "description": cells.get("description"), "attributes": attributes}, where
    )
