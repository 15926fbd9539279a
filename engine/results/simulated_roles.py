"""Who answered in which role, and which roles were simulated: a rewriter may be simulated beside a real solver.

Calls are counted by model, and a kind says which keys of its section name the model of which role (`KindSpec.roles`).
A model that stands for several roles has them all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.results.blocks import counted, listing
from tidepool.engine.studies.kinds import KINDS, load_kind

SIMULATED = "simulated"
ALL_SIMULATED = "simulated answers: no model of a provider was asked"
NOT_YET = "simulated, in part or all: nothing was answered yet"
MOST_NAMED = 4


def is_simulated(model: str) -> bool:
    return model.partition(":")[0] == SIMULATED


def roles_asked(kind: str, sections: Mapping[str, Any], calls: Mapping[str, int]) -> list[dict[str, Any]]:
    """For each model that was asked: its role, how many calls it had, and whether it was simulated."""
    named: dict[str, list[str]] = {}
    for role, model in _named(kind, sections):
        if role not in named.setdefault(model, []):
            named[model].append(role)
    return [_asked(" and ".join(named.get(model, ["model"])), model, count) for model, count in calls.items()]


def _asked(role: str, model: str, calls: int) -> dict[str, Any]:
    return {"role": role, "model": model, "calls": calls, "simulated": is_simulated(model)}


def simulated_roles(roles: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(one["role"] for one in roles if one["simulated"]))


def simulated_parts(roles: Iterable[Mapping[str, Any]]) -> list[str]:
    """The simulated roles, with their models where real models had the role too."""
    asked = list(roles)
    real = {one["role"] for one in asked if not one["simulated"]}
    shared = [one for one in asked if one["simulated"] and one["role"] in real]
    return [*(role for role in simulated_roles(asked) if role not in real), *_by_providers(shared)]


def merge_roles(cells: Iterable[Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The roles of several batches, with the sums of their calls."""
    calls: Counter[tuple[str, str]] = Counter()
    for roles in cells:
        for one in roles:
            calls[one["role"], one["model"]] += one["calls"]
    return [_asked(*who, count) for who, count in calls.most_common()]


def simulated_words(roles: Iterable[Mapping[str, Any]]) -> str:
    """simulated: rewriter and judge (312 of 2,311 calls); real: solver openai:gpt-4o-mini."""
    asked = list(roles)
    real = [one for one in asked if not one["simulated"]]
    if not asked:
        return NOT_YET
    if not real:
        return ALL_SIMULATED
    if len(real) == len(asked):
        return f"not simulated: {'; '.join(_by_providers(real))}"
    ours = sum(one["calls"] for one in asked if one["simulated"])
    share = f"{ours:,} of {counted(sum(one['calls'] for one in asked), 'call')}"
    return f"simulated: {listing(simulated_parts(asked))} ({share}); real: {'; '.join(_by_providers(real))}"


def simulated_lines(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The words on a study: one line on all of it, and one on each group of cells where cells differ in who was simulated.

    A cell has `roles`, and `levels` by factor.
    """
    whole = merge_roles(cell["roles"] for cell in cells)
    if not simulated_roles(whole):
        return []
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for cell in cells:
        if cell["roles"]:
            # By role: cells whose real models differ, and nothing else, are one group.
            parts = sorted({f"{one['simulated']} {one['role']}" for one in cell["roles"]})
            groups.setdefault(tuple(parts), []).append(cell)
    if len(groups) < 2:
        return [simulated_words(whole)]
    by_group = [
        f"cells with {_cells_named(own, cells)}: {simulated_words(merge_roles(cell['roles'] for cell in own))}"
        for own in groups.values()
    ]
    return [simulated_words(whole), *by_group]


def _cells_named(own: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> str:
    """By the levels of one factor where those are enough, else by all levels of each cell."""
    others = [cell["levels"] for cell in cells if cell not in own]
    for factor in own[0]["levels"]:
        levels = list(dict.fromkeys(cell["levels"].get(factor, "") for cell in own))
        if not any(other.get(factor, "") in levels for other in others):
            return f"{factor} = {listing(levels)}"
    return listing(dict.fromkeys(", ".join(cell["levels"].values()) for cell in own))


def _by_providers(real: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    models: dict[str, list[str]] = {}
    for one in real:
        models.setdefault(one["role"], []).append(one["model"])
    for role, names in models.items():
        more = [f"{len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
        yield f"{role} {listing([*names[:MOST_NAMED], *more])}"


def _named(kind: str, sections: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(role, PROVIDER:MODEL) as a stored config has them; it may be a stranger's, and hold something else."""
    spec = load_kind(kind) if kind in KINDS and isinstance(sections, Mapping) else None
    section = sections.get(kind) if spec else None
    idle = spec.idle_roles(section) if spec and isinstance(section, Mapping) else ()
    for key, role in (spec.roles if spec else {}).items():
        if key in idle:
            continue
        found: Any = sections if key == "agents" else section
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        for one in found if isinstance(found, list) else [found]:
            model = one.get("model") if isinstance(one, Mapping) else one
            if isinstance(model, str):
                yield role, model
