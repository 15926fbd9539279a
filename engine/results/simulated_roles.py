"""The roles of the models in a batch, and which of them were simulated, such as the rewriter but not the solver.

Calls are counted by model. `Kind.roles` defines which config keys name the model of which role. A model can have
several roles.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.reports.blocks import counted, listing

SIMULATED = "simulated"
ALL_SIMULATED = "Simulated: no real model was called."
NOT_YET = "Simulated, in part or all: no reply yet."
MOST_NAMED = 4


def is_simulated(model: str) -> bool:
    return model.partition(":")[0] == SIMULATED


def roles_asked(kind: str, sections: Mapping[str, Any], calls: Mapping[str, int]) -> list[dict[str, Any]]:
    """Returns the role of each model, its number of calls, and whether it is simulated."""
    roles: dict[str, list[str]] = {}
    for role, model in _named(kind, sections):
        if role not in roles.setdefault(model, []):
            roles[model].append(role)
    return [_entry(" and ".join(roles.get(model, ["model"])), model, count) for model, count in calls.items()]


def _entry(role: str, model: str, calls: int) -> dict[str, Any]:
    return {"role": role, "model": model, "calls": calls, "simulated": is_simulated(model)}


def simulated_roles(roles: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(entry["role"] for entry in roles if entry["simulated"]))


def simulated_parts(roles: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the simulated roles, with their models if real models have the same role."""
    entries = list(roles)
    real = {entry["role"] for entry in entries if not entry["simulated"]}
    shared = [entry for entry in entries if entry["simulated"] and entry["role"] in real]
    return [*(role for role in simulated_roles(entries) if role not in real), *_by_providers(shared)]


def merge_roles(cells: Iterable[Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the roles of several batches, with the sums of their calls."""
    calls: Counter[tuple[str, str]] = Counter()
    for roles in cells:
        for entry in roles:
            calls[entry["role"], entry["model"]] += entry["calls"]
    return [_entry(*role_and_model, count) for role_and_model, count in calls.most_common()]


def simulated_words(roles: Iterable[Mapping[str, Any]]) -> str:
    """Describes the roles, as in "Simulated: judge (312 of 2,311 requests). Real: solver openai:gpt-4o-mini."."""
    entries = list(roles)
    real = [entry for entry in entries if not entry["simulated"]]
    if not entries:
        return NOT_YET
    if not real:
        return ALL_SIMULATED
    if len(real) == len(entries):
        return f"Real models: {'; '.join(_by_providers(real))}."
    simulated_calls = sum(entry["calls"] for entry in entries if entry["simulated"])
    share = f"{simulated_calls:,} of {counted(sum(entry['calls'] for entry in entries), 'request')}"
    return f"Simulated: {listing(simulated_parts(entries))} ({share}). Real: {'; '.join(_by_providers(real))}."


def _by_providers(real: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    models: dict[str, list[str]] = {}
    for entry in real:
        models.setdefault(entry["role"], []).append(entry["model"])
    for role, names in models.items():
        rest = [f"{len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
        yield f"{role} {listing([*names[:MOST_NAMED], *rest])}"


def _named(kind: str, sections: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (role, PROVIDER:MODEL) of a stored config. Invalid values of an untrusted config are skipped."""
    spec = load_kind(kind) if kind in KINDS and isinstance(sections, Mapping) else None
    section = sections.get(kind) if spec else None
    idle = spec.idle_roles(section) if spec and isinstance(section, Mapping) else ()
    for key, role in (spec.roles if spec else {}).items():
        if key in idle:
            continue
        node: Any = sections if key == "agents" else section
        for part in key.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        for item in node if isinstance(node, list) else [node]:
            model = item.get("model") if isinstance(item, Mapping) else item
            if isinstance(model, str):
                yield role, model
