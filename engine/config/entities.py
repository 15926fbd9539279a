"""Entities: a name, a description and typed attributes. They are checked, described in words, and read from JSON, TOML and CSV.

Entities often come from other people's files. So everything is checked here once, and each error names the place in the
file and the key within the entity.
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
    """A persona that can take part in a simulation or become an agent."""

    name: str
    """the name in transcripts; unique in a study"""
    description: str = ""
    """who the entity is, in a sentence or two"""
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)
    """all other facts: numbers, texts, true or false"""

    def __post_init__(self) -> None:
        """Checks what would break the check of a whole study, which reports all other problems."""
        checked_name(self.name, "Entity, name", "name")
        for key, kind, words in (("description", str, "text"), ("attributes", Mapping, "names and values")):
            if not isinstance(getattr(self, key), kind):
                raise UsageError(f"Entity, {key}: expected {words}.", (key,))

    def with_attribute(self, name: str, value: Attribute) -> "Entity":
        """The same entity with one attribute added or changed."""
        return replace(self, attributes={**self.attributes, name: value})

    def as_record(self) -> dict[str, object]:
        """The entity as a JSON or TOML file, or a config's [[entities]], writes it."""
        return {"name": self.name, "description": self.description, "attributes": dict(self.attributes)}


# -- checking --------------------------------------------------------------------------------------------


def entity_from(record: object, where: str) -> Entity:
    """An entity from a parsed file; `where` names the file and the place in it."""
    if not isinstance(record, Mapping):
        raise UsageError(f"{where}: an entity must be a table with a name.")
    from tidepool.engine.config.problems import validated

    checked = validated(_record(), record, where)
    return Entity(checked.name, checked.description.strip(), checked.attributes)


def stored_entity(record: Mapping[str, Any]) -> Entity:
    """An entity of a frozen config, for reading only. Invalid attributes of a changed file are left out."""
    attributes = {name: value for name, value in record["attributes"].items() if isinstance(value, Attribute)}
    return Entity(record["name"], record["description"], attributes)


def checked_name(name: object, where: str, *key: str) -> str:
    """The name without surrounding spaces. Errors name the place."""
    try:
        return check_name(name)
    except ValueError as error:
        raise UsageError(f"{where}: {error}", key) from None


def check_name(name: object) -> str:
    """Checks that a name is one line of readable text, since it precedes a colon in transcripts."""
    if name is None or name == "":
        raise ValueError("the name is missing. Give every entity its own name.")
    if not isinstance(name, str):
        raise ValueError("the name must be text. Put it in quotes.")
    tidy = name.strip()
    if not tidy:
        raise ValueError("the name is blank. Give every entity its own name.")
    if not tidy.isprintable():
        raise ValueError(f"the name {tidy!r} contains a line break or control character. Remove it.")
    if len(tidy) > LONGEST_NAME:
        raise ValueError(f"the name has {len(tidy)} characters. The maximum is {LONGEST_NAME}.")
    return tidy


def check_text(text: object) -> str:
    """The text, if it can be stored."""
    if not isinstance(text, str):
        raise ValueError("this must be text. Put it in quotes.")
    if len(text) > ceilings.TEXT:
        raise ValueError(f"the text has {len(text):,} characters. The maximum is {ceilings.TEXT:,}.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text contains an invalid character (a lone surrogate). Remove it.")
    return text


def _check_attribute(value: object) -> Attribute:
    if not isinstance(value, Attribute):
        raise ValueError("expected a number, text or true/false.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number. Remove the attribute.")
    return check_text(value) if isinstance(value, str) else value


def _without_nothing(value: object) -> object:
    """Treats null and an empty table as missing."""
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value or {}


@cache
def _record() -> Any:
    """An entity as a file or a config writes it. Built on demand, so that reading results does not load pydantic."""
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
        """set by the library, like the type; a file that has them is valid"""
        type: Any = None

    return Record


def refuse_duplicates(entities: Iterable[Entity], where: str) -> None:
    """Rejects two entities with the same name, also if only the case differs. Transcripts could not tell them apart."""
    first: dict[str, str] = {}
    for index, entity in enumerate(entities):
        key = entity.name.casefold()
        if key in first:
            names = f"{entity.name!r}" + ("" if first[key] == entity.name else f" (and {first[key]!r})")
            raise UsageError(f"{where}: the entity {names} appears twice. Rename or remove one.", (index, "name"))
        first[key] = entity.name


# -- in words --------------------------------------------------------------------------------------------


def in_words(value: Attribute) -> str:
    """The value in words."""
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
    """A description of an entity, one attribute per line. Line breaks inside an attribute are removed."""
    about = entity.description or entity.name
    lines = (f"- {attribute_in_words(*pair)}" for pair in entity.attributes.items())
    return tuple(" ".join(line.split()) for line in (f"{title}: {about}", *lines))


def attribute_in_words(name: str, value: Attribute) -> str:
    """The attribute with its unit or scale, if its name implies one."""
    label, words = name.replace("_", " "), in_words(value)
    if isinstance(value, bool | str):
        return f"{label}: {words}"
    if name in _OF_TEN and 0 <= value <= 10:
        return f"{label}: {words} of 10 ({_DEGREES[min(int(value / 2.01), 4)]})"
    return f"{label}: {words} years" if name == "age" else f"{label}: {words}"


# -- files -----------------------------------------------------------------------------------------------

FORM = 'An entity file is TOML. Write [[entities]] for each entity, and below it keys such as name = "Hypatia".'
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})\Z")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?\Z")


def read_entities(path: Path) -> list[Entity]:
    """All entities of a file. The file extension decides the format."""
    suffix = path.suffix.lower()
    if suffix not in (".json", ".toml", ".csv", ".tsv"):
        raise UsageError(
            f"{path}: unknown file type. Entities are read from .json, .toml and .csv files. Rename or convert the file."
        )
    entities = _from_csv(path) if suffix in (".csv", ".tsv") else _from_tree(path)
    if not entities:
        raise UsageError(f"{path}: the file contains no entities.")
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
        words = f"this is not valid JSON: {error.msg} (column {error.colno})."
        raise UsageError(f"{path}, line {error.lineno}: {words}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: this is not valid JSON: {error}.") from None


def _from_tree(path: Path) -> list[Entity]:
    tree = read_tree(path)
    records = tree.get("entities") if isinstance(tree, dict) else tree
    if not isinstance(records, list):
        raise UsageError(f"{path}: expected a list of entities, or a list under the key 'entities'.")
    return [entity_from(record, f"{path}, entity {place}") for place, record in enumerate(records, 1)]


def _from_csv(path: Path) -> list[Entity]:
    """One entity per row. All columns except name and description are attributes."""
    rows = read_table(path, fixed=("name", "description"))
    columns = [name for name in (rows[0][1] if rows else ()) if name not in ("name", "description")]
    kinds = {name: _kind([cells[name] for _, cells in rows]) for name in columns}
    return [_from_row(cells, kinds, f"{path}, row {row}") for row, cells in rows]


def read_table(path: Path, fixed: Sequence[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a column 'name', each with its line. Names in `fixed` may have any case."""
    numbered = _rows(path)
    header = _header([cell.strip() for cell in numbered[0][1]], path, fixed)
    return [(row, _cells(cells, header, f"{path}, row {row}")) for row, cells in numbered[1:]]


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line of the file on which it ends."""
    text = read_text(path)
    first_line = text.partition("\n")[0]
    delimiter = max(",;\t", key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise UsageError(f"{path}, row {reader.line_num}: this is not valid CSV: {error}.") from None
    if not rows:
        raise UsageError(f"{path}: the file is empty. The first row must name the columns, and one must be 'name'.")
    return rows


def _header(cells: list[str], path: Path, fixed: Sequence[str]) -> list[str]:
    if len(cells) > ceilings.COLUMNS:
        raise UsageError(f"{path}, row 1: the file has {len(cells):,} columns. The maximum is {ceilings.COLUMNS:,}.")
    header = [cell.casefold() if cell.casefold() in fixed else cell for cell in cells]
    for column, name in enumerate(header, 1):
        if not name:
            raise UsageError(f"{path}, row 1, column {column}: the column has no name. Add one.")
        checked_name(name, f"{path}, row 1, column {column}")
        if header.index(name) < column - 1:
            raise UsageError(f"{path}, row 1, column {column}: the column {name!r} appears twice. Remove one.")
    if "name" not in header:
        raise UsageError(f"{path}, row 1: the column 'name' is missing. Every entity needs a name.")
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
    """The type of a column, decided by all its cells, so that no attribute mixes numbers and text."""
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
