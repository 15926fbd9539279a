"""Entity types out of TOML or JSON files: the built-in ones in `types/`, and users' own alike."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.engine.library.dimensions import (
    BooleanDimension,
    CategoricalDimension,
    Dimension,
    NumberDimension,
    TextDimension,
    blanks,
)
from tidepool.engine.library.entities import checked_name, checked_text
from tidepool.engine.library.entity_files import read_tree
from tidepool.engine.library.entity_types import EntityType

_TYPE_KEYS = ("name", "description", "portrait", "first_names", "last_names", "dimensions")
_DIMENSION_KEYS = {
    "boolean": ("share",),
    "categorical": ("options", "weights"),
    "int": ("range", "spread", "mean", "deviation", "towards"),
    "float": ("range", "spread", "mean", "deviation", "towards", "decimals"),
    "text": ("options", "template", "prompt"),
}


def built_in_types() -> dict[str, EntityType]:
    """The types that come with Tidepool, by name."""
    folder = Path(__file__).with_name("types")
    return {kind.name: kind for path in sorted(folder.glob("*.toml")) for kind in read_entity_types(path)}


def built_in_records() -> dict[str, dict[str, Any]]:
    """The same as they are written, to be changed into one's own."""
    folder = Path(__file__).with_name("types")
    return {str(record["name"]): record for record in map(read_tree, sorted(folder.glob("*.toml")))}


def read_entity_types(path: Path) -> list[EntityType]:
    """One type at the top of the file, or several under `entity_types`."""
    tree = read_tree(path)
    records = tree.get("entity_types", [tree]) if isinstance(tree, dict) else tree
    if not isinstance(records, list) or not records:
        raise UsageError(f"{path}: expected an entity type, or a list of them under 'entity_types'.")
    types = [entity_type_from(record, f"{path}, type {place}") for place, record in enumerate(records, 1)]
    names = [kind.name for kind in types]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{path}: the entity type {twice!r} is there twice. Rename or remove one.")
    return types


def entity_type_from(record: object, where: str) -> EntityType:
    """A type out of a parsed file; `where` names the file and the place in it."""
    table = _TypeTable(record, where)
    table.allow(_TYPE_KEYS)
    name = checked_name(table.values.get("name"), f"{where}, name")
    dimensions = _dimensions(table.list("dimensions"), where)
    portrait = table.text("portrait")
    _refuse_unknown_blanks(portrait, [d.name for d in dimensions], f"{where}, portrait")
    if table.list("last_names") and not table.list("first_names"):
        raise table.wrong("last_names", "give first_names too")
    return EntityType(
        name,
        dimensions,
        table.text("description"),
        portrait,
        _names(table, "first_names"),
        _names(table, "last_names"),
    )


def _names(table: "_TypeTable", key: str) -> tuple[str, ...]:
    names = [checked_name(name, f"{table.where}, {key}") for name in table.list(key)]
    # A space inside could make two pairs read alike ("Ana Maria" "Sol", "Ana" "Maria Sol").
    folded = [name.casefold() for name in names]
    for name in names:
        if " " in name or folded.count(name.casefold()) > 1:
            raise UsageError(f"{table.where}, {key}: {name!r} must be one word that is there once.")
    return tuple(names)


def _dimensions(records: Sequence[object], where: str) -> tuple[Dimension, ...]:
    dimensions: list[Dimension] = []
    for place, record in enumerate(records, 1):
        known = [dimension.name for dimension in dimensions]
        dimension = _dimension(_TypeTable(record, f"{where}, dimension {place}"), known)
        if dimension.name in (*known, "name"):
            raise UsageError(f"{where}, dimension {place}: the name {dimension.name!r} is taken. Choose another.")
        dimensions.append(dimension)
    if not dimensions:
        raise UsageError(f"{where}: a type needs at least one dimension, listed under 'dimensions'.")
    return tuple(dimensions)


def _dimension(table: "_TypeTable", known: Sequence[str]) -> Dimension:
    name = checked_name(table.values.get("name"), f"{table.where}, name")
    table.where += f" ({name})"
    kind = table.choice("kind", tuple(_DIMENSION_KEYS), None)
    table.allow(("name", "kind", *_DIMENSION_KEYS[kind]))
    if kind == "boolean":
        return BooleanDimension(name, table.number("share", 0.5, 0, 1))
    if kind == "categorical":
        return _categorical(name, table)
    if kind == "text":
        return _text(name, table, known)
    return _number(name, table, kind == "int")


def _categorical(name: str, table: "_TypeTable") -> CategoricalDimension:
    given = table.values.get("options")
    if isinstance(given, Mapping):
        options, weights = list(given), list(given.values())
    else:
        options = table.list("options")
        weights = table.list("weights") or [1] * len(options)
    labels = [checked_name(option, f"{table.where}, options") for option in options]
    if not labels or len(labels) != len(weights):
        raise table.wrong("options", "give at least one option, and one weight for each")
    if not all(_is_number(weight) and weight >= 0 for weight in weights) or not sum(weights) > 0:
        raise table.wrong("weights", "weights are numbers from 0 up, and not all 0")
    return CategoricalDimension(name, tuple(labels), tuple(float(weight) for weight in weights))


def _number(name: str, table: "_TypeTable", whole: bool) -> NumberDimension:
    ends = table.list("range")
    if len(ends) != 2 or not all(_is_number(end) for end in ends) or ends[0] > ends[1]:
        raise table.wrong("range", "give it as [lowest, highest]")
    if whole and any(end != int(end) for end in ends):
        raise table.wrong("range", "an int dimension has whole ends")
    low, high = ends
    given = table.values
    return NumberDimension(
        name,
        low,
        high,
        whole,
        table.choice("spread", ("uniform", "normal", "skewed"), "uniform"),  # type: ignore[arg-type]
        mean=table.number("mean", 0, low, high) if "mean" in given else None,
        deviation=table.number("deviation", 0, 0, max(high - low, 1)) if "deviation" in given else None,
        towards=table.choice("towards", ("low", "high"), "low"),  # type: ignore[arg-type]
        decimals=int(table.number("decimals", 2, 0, 12)),
    )


def _text(name: str, table: "_TypeTable", known: Sequence[str]) -> TextDimension:
    given = [key for key in ("options", "template", "prompt") if key in table.values]
    if len(given) != 1:
        raise table.wrong("text", "give one of options (a list), template, or prompt (a model writes it)")
    texts = table.list("options") if given == ["options"] else [table.text(given[0])]
    checked = [checked_text(text, f"{table.where}, {given[0]}") for text in texts]
    if not checked or not all(text.strip() for text in checked):
        raise table.wrong(given[0], "it is empty")
    for text in checked:
        _refuse_unknown_blanks(text, known, f"{table.where}, {given[0]}")
    return TextDimension(name, prompt=checked[0]) if given == ["prompt"] else TextDimension(name, tuple(checked))


def _refuse_unknown_blanks(template: str, known: Sequence[str], where: str) -> None:
    for blank in blanks(template):
        if blank not in (*known, "name"):
            raise UsageError(
                f"{where}: {{{blank}}} is neither the name nor a dimension listed before it "
                f"({', '.join(known) or 'there is none'})."
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class _TypeTable:
    """A parsed table that complains with its place."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where}: expected a table.")
        self.values: Mapping[str, Any] = values
        self.where = where

    def wrong(self, key: str, advice: str) -> UsageError:
        return UsageError(f"{self.where}, {key}: {advice}.")

    def allow(self, keys: Sequence[str]) -> None:
        for key in self.values:
            if key not in keys:
                close = get_close_matches(key, keys, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(keys)}."
                raise UsageError(f"{self.where}: unknown key {key!r}; {hint}")

    def text(self, key: str) -> str:
        return checked_text(self.values.get(key, ""), f"{self.where}, {key}")

    def list(self, key: str) -> list[Any]:
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "expected a list")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value: Any = self.values.get(key, default)
        if not _is_number(value) or not low <= value <= high:
            raise self.wrong(key, f"expected a number from {low:g} to {high:g}")
        return float(value)

    def choice(self, key: str, options: tuple[str, ...], default: str | None) -> str:
        value = self.values.get(key, default)
        if value not in options:
            raise self.wrong(key, f"expected one of {', '.join(options)}")
        return str(value)
