"""Agents out of JSON, TOML and CSV files, in the words of a config's [[agents]]."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidepool.engine.config.problems import validated
from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import UsageError
from tidepool.engine.library.entity_files import read_table, read_tree

_NUMBERS = {"temperature": float, "max_tokens": int, "max_reasoning_tokens": int}


def read_agents(path: Path) -> list[Agent]:
    """All agents of a file; the ending says what it is."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        records = [(f"{path}, row {row}", _from_cells(cells, f"{path}, row {row}")) for row, cells in read_table(path)]
    elif suffix in (".json", ".toml"):
        tree = read_tree(path)
        listed = tree.get("agents") if isinstance(tree, dict) else tree
        if not isinstance(listed, list):
            raise UsageError(f"{path}: expected a list of agents, or a list under the key 'agents'.")
        records = [(f"{path}, agent {place}", record) for place, record in enumerate(listed, 1)]
    else:
        raise UsageError(f"{path}: agents are read from .json, .toml and .csv files. Rename or convert it.")
    if not records:
        raise UsageError(f"{path}: the file holds no agents.")
    return [validated(Agent, _without_id(record), where) for where, record in records]


def _without_id(record: object) -> object:
    """Ids are the library's own; a file that carries them is still fine."""
    return {key: value for key, value in record.items() if key != "id"} if isinstance(record, Mapping) else record


def _from_cells(cells: Mapping[str, str], where: str) -> dict[str, Any]:
    """An empty cell stands for the default."""
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell:
            try:
                values[name] = _NUMBERS.get(name, str)(cell)
            except ValueError:
                raise UsageError(f"{where}, column {name!r}: {cell!r} is no number.") from None
    return values
