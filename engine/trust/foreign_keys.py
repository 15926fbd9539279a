"""Config keys that an untrusted study file cannot bring along.

A study file is data, no matter who made it. Tidepool asks before a batch from elsewhere sends or runs anything (`gate.py`), and a config that is
copied from it loses the keys below. `tests/engine/trust/test_file_values.py` lists every config key and every column of a study file with
the reason why it is safe, and fails if one is missing.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.errors import Location

NOT_TRUSTED = "not-trusted:"
"""prefix of a scorer that only an untrusted file names; the user removes it by hand"""
LIMIT_KEYS = frozenset(
    "max_concurrent batch_size requests_per_minute tokens_per_minute retries timeout poll_interval rescue_after cache "
    "budget_usd batch_from outage_patience like batch_api".split()
)
"""keys of [providers.NAME] that are kept from any file: bounded numbers, and one of three API dialects"""
SIMULATED_KEYS = frozenset(
    "latency jitter error_rate fatal_rate enforced_per_minute price_input price_output batch_seconds batch_error_rate "
    "batch_expire_rate batch_refuse".split()
)
"""also kept, since the simulated provider sends nothing"""
CODE_KEYS = frozenset({"scorer"})
FILE_KEYS = frozenset("context_file entity_file problems judge_from queries policy".split())
"""keys that name files to read when the user runs a config; a stored config that has one is rejected"""


def foreign_keys(config: Mapping[str, Any]) -> Iterator[tuple[Location, str | None]]:
    """Keys that a config must not bring from an untrusted file, each with its replacement; None: the key is removed."""
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
    """Keys of a draft that would read a file outside its folder. (A stored config that names a file is rejected.)"""
    for name, section in config.items():
        for key in FILE_KEYS & section.keys() if isinstance(section, Mapping) else ():
            if isinstance(section[key], str) and re.search(r"^[.~]|[/\\]", section[key]):
                yield (name, key), None


def foreign_provider_keys(config: Mapping[str, Any]) -> Iterator[Location]:
    """Keys that set where requests go, with which key, and at which price."""
    providers = config.get("providers")
    for name, section in providers.items() if isinstance(providers, Mapping) else ():
        if isinstance(section, Mapping):
            known = name == "simulated" or name in KNOWN_ENDPOINTS or section.get("like") is not None
            safe = LIMIT_KEYS | SIMULATED_KEYS if known else LIMIT_KEYS  # other keys of a package may contain a command
            yield from (("providers", name, key) for key in section if key not in safe)


def _sets_code(design: Any) -> bool:
    """Whether a level of the design may set a key that runs code or reads a file, in any spelling of its path."""
    if isinstance(design, Mapping):
        parts = {part for key in design for part in re.findall(r"\w+", str(key).replace("\\", ""))}
        return bool(parts & (CODE_KEYS | FILE_KEYS)) or any(map(_sets_code, design.values()))
    return isinstance(design, list) and any(map(_sets_code, design))


def without_foreign(
    config: Mapping[str, Any], keys: Iterator[tuple[Location, str | None]] | None = None
) -> dict[str, Any]:
    """The config for a new batch of the user, without these keys, or without all foreign keys."""
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
