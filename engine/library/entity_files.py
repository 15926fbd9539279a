"""Entities out of JSON, TOML and CSV files. A wrong file is told by file, row and column."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import check_file, parse_toml
from tidepool.engine.errors import UsageError
from tidepool.engine.library.entities import (
    Attribute,
    Entity,
    checked_attributes,
    checked_name,
    entity_from,
    refuse_doubled,
)

FORM = 'An entity file is TOML: [[entities]] for each, and below it keys such as name = "Hypatia".'
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})\Z")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?\Z")


def read_entities(path: Path) -> list[Entity]:
    """All entities of a file; the ending says what it is."""
    readers: dict[str, Callable[[Path], list[Entity]]] = {
        ".json": _from_json,
        ".toml": _from_toml,
        ".csv": _from_csv,
        ".tsv": _from_csv,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: entities are read from .json, .toml and .csv files. Rename or convert it.")
    entities = reader(path)
    if not entities:
        raise UsageError(f"{path}: the file holds no entities.")
    refuse_doubled(entities, str(path))
    return entities


def read_entity_ids(path: Path) -> list[str] | None:
    """The ids of a library that a JSON file lists; None where it lists entities, or is no JSON."""
    if path.suffix.lower() != ".json":
        return None
    listed = _records(read_tree(path))
    if not isinstance(listed, list) or not any(isinstance(record, str) for record in listed):
        return None
    seen: set[str] = set()
    for place, record in enumerate(listed, 1):
        if not isinstance(record, str) or not record.strip():
            raise UsageError(
                f"{path}, entry {place}: the file lists ids of the library, and this is none. A file has entities or ids, "
                "not both."
            )
        if record in seen:
            raise UsageError(f"{path}, entry {place}: the id {record!r} is there twice. Name each entity once.")
        seen.add(record)
    return listed


def read_tree(path: Path) -> Any:
    """A JSON or TOML file as plain values."""
    text = read_text(path)
    if path.suffix.lower() == ".toml":
        return parse_toml(text, str(path), FORM)
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        words = f"{path}, line {error.lineno}: this is no valid JSON: {error.msg} (column {error.colno})."
        raise UsageError(f"{words}{_cure(text, error.pos)}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: this is no valid JSON: {error}.") from None


def _cure(text: str, position: int) -> str:
    """The two slips that are made most."""
    if re.search(r",\s*\Z", text[:position]) and text[position : position + 1] in "]}":
        return " Remove the comma before it: none stands behind the last."
    return " Names and texts stand in double quotes." if text[position : position + 1] in ("'", "“", "”") else ""


def read_text(path: Path) -> str:
    """The file's text, whatever keeps it from being read told in words."""
    try:
        check_file(path)
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the file cannot be read: {error.strerror or error}.") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, row {row}: this is not UTF-8 text. Save the file as UTF-8.") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} is there twice in one object")
    return table


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _from_json(path: Path) -> list[Entity]:
    return _listed(_records(read_tree(path)), path)


def _records(tree: Any) -> object:
    return tree.get("entities") if isinstance(tree, dict) else tree


def _from_toml(path: Path) -> list[Entity]:
    return _listed(read_tree(path).get("entities"), path)


def _listed(records: object, path: Path) -> list[Entity]:
    if not isinstance(records, list):
        raise UsageError(f"{path}: expected a list of entities, or a list under the key 'entities'.")
    return [entity_from(record, f"{path}, entity {place}") for place, record in enumerate(records, 1)]


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
    attributes: dict[object, object] = {name: kind(cells[name]) for name, kind in kinds.items() if cells[name]}
    return Entity(
        name=checked_name(cells["name"], f"{where}, column 'name'"),
        description=cells.get("description", ""),
        attributes=checked_attributes(attributes, where),
    )
