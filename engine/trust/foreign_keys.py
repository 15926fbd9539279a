"""Keys that a config of another person's study file cannot bring along.

A study file is data, whoever made it. A batch that is not the user's own is asked about before it sends or runs anything (`gate.py`), and
a config that is copied from it loses the keys below. `tests/engine/trust/test_file_values.py` lists every config key and every column of
a study file with the reason why it is safe, and fails when one is missing.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.errors import Location

NOT_TRUSTED = "not-trusted:"
"""before the name of a scorer that only a foreign file names: the user removes it by hand"""
LIMIT_KEYS = frozenset(
    "max_concurrent batch_size requests_per_minute tokens_per_minute retries timeout poll_interval rescue_after cache "
    "budget_usd batch_from outage_patience like batch_api".split()
)
"""of [providers.NAME], kept from any file: bounded numbers, and which of three API dialects is spoken"""
SIMULATED_KEYS = frozenset(
    "latency jitter error_rate fatal_rate enforced_per_minute price_input price_output batch_seconds batch_error_rate "
    "batch_expire_rate batch_refuse".split()
)
"""kept as well: the simulated provider calls nothing"""
CODE_KEYS = frozenset({"scorer"})
FILE_KEYS = frozenset("context_file entity_file problems judge_from queries policy".split())
"""name files, which are read when the user runs a config; a frozen config that names one is refused"""


def foreign_keys(config: Mapping[str, Any]) -> Iterator[tuple[Location, str | None]]:
    """Keys that a config may not bring along from another person's file, each with its replacement; None: it is removed."""
    if "cluster" in config:
        yield ("cluster",), None
    if "design" in config and _sets_code(config["design"]):
        yield ("design",), None
    for name, section in config.items():
        if not isinstance(section, Mapping):
            continue
        scorer = section.get("scorer")
        if isinstance(scorer, str) and ":" in scorer and not scorer.startswith(NOT_TRUSTED):
            yield (name, "scorer"), f"{NOT_TRUSTED}{scorer}"
        elif scorer is not None and not isinstance(scorer, str):
            yield (name, "scorer"), None
    yield from ((path, None) for path in foreign_provider_keys(config))


def foreign_files(config: Mapping[str, Any]) -> Iterator[tuple[Location, None]]:
    """Keys of a draft that would have a file read outside its folder. (A frozen config that names a file is refused.)"""
    for name, section in config.items():
        for key in FILE_KEYS & section.keys() if isinstance(section, Mapping) else ():
            if isinstance(section[key], str) and re.search(r"^[.~]|[/\\]", section[key]):
                yield (name, key), None


def foreign_provider_keys(config: Mapping[str, Any]) -> Iterator[Location]:
    """Those that say where requests go, with which key and at which price."""
    providers = config.get("providers")
    for name, section in providers.items() if isinstance(providers, Mapping) else ():
        if isinstance(section, Mapping):
            known = name == "simulated" or name in KNOWN_ENDPOINTS or section.get("like") is not None
            safe = LIMIT_KEYS | SIMULATED_KEYS if known else LIMIT_KEYS  # other keys of a package may be a command
            yield from (("providers", name, key) for key in section if key not in safe)


def _sets_code(design: Any) -> bool:
    """Whether a level of it may set a key that runs code or reads a file, however its path is written."""
    if isinstance(design, Mapping):
        parts = {part for key in design for part in re.findall(r"\w+", str(key).replace("\\", ""))}
        return bool(parts & (CODE_KEYS | FILE_KEYS)) or any(map(_sets_code, design.values()))
    return isinstance(design, list) and any(map(_sets_code, design))


def without_foreign(
    config: Mapping[str, Any], keys: Iterator[tuple[Location, str | None]] | None = None
) -> dict[str, Any]:
    """The config as a new one of the user's own may begin: without these keys, or all foreign ones."""
    copy = deepcopy(dict(config))
    for (*path, last), value in list(foreign_keys(config) if keys is None else keys):
        section: Any = copy
        for part in path:
            section = section[part]
        if value is None:
            del section[last]
        else:
            section[last] = value
    return copy
