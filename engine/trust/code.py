"""Code that a study runs on this machine: a scorer of the user's own, and what models write.

A file's words never have any run. A batch of a stranger's file is asked about before it goes on; and a config that is
taken out of one, to be run anew as the user's own, says no longer that code may be run.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.errors import Location

NOT_TRUSTED = "not-trusted:"
"""before the name of a scorer that only a stranger's file names: to be taken away by hand"""


def without_code(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a stranger's file for a new batch of the user's own."""
    kept = {name: dict(section) if isinstance(section, dict) else section for name, section in config.items()}
    for (section, key), value in code_named(config):
        if value is None:
            del kept[str(section)][key]
        else:
            kept[str(section)][key] = value
    return kept


def code_named(config: Mapping[str, Any]) -> Iterator[tuple[Location, str | None]]:
    """Keys that have code run, each with what stands in its place where nobody has vouched for it."""
    for name, section in config.items():
        if not isinstance(section, dict):
            continue
        if "allow_code" in section:
            yield (name, "allow_code"), None
        scorer = section.get("scorer")
        if isinstance(scorer, str) and ":" in scorer and not scorer.startswith(NOT_TRUSTED):
            yield (name, "scorer"), f"{NOT_TRUSTED}{scorer}"
