"""The section [cluster], which sends live requests from Ray workers instead of from this process.

It does not describe the study, so no batch stores it: you can resume a study with other workers or with none. For the
same reason, an untrusted file cannot name an address that this machine then joins. Set the section in the config that
you run, with `--set cluster.…`, or for all studies in your own `providers.toml`.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Self

from annotated_types import Ge, Le, MaxLen
from pydantic import AfterValidator, Field, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.problems import WrongValue, validated
from tidepool.engine.config.section import Section
from tidepool.engine.config.toml_files import apply_override

PREFIX = "cluster."
MOST_WORKERS = 1_000
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})", re.ASCII)


def _place(ray: str) -> str:
    found = _ADDRESS.fullmatch(ray)
    if ray not in ("auto", "local") and (found is None or not 0 < int(found[1]) < 65_536):
        raise ValueError('use "local", "auto" or the address HOST:PORT of a cluster that this machine belongs to')
    return ray


Place = Annotated[str, MaxLen(ceilings.ADDRESS), AfterValidator(_place)]
Amount = Annotated[float, Ge(0), Le(1e15)]


class Cluster(Section):
    """Workers on Ray (the extra `cluster`). What comes out does not depend on it."""

    ray: Place = Field(default="local", title="Cluster")
    """local: workers on this machine; auto: the cluster that runs here or that RAY_ADDRESS names; or its HOST:PORT"""
    hands: int = Field(default=8, ge=0, le=MOST_WORKERS)
    """workers that send requests; 0: this process sends them"""
    resources: dict[str, Amount] = Field(default_factory=dict, examples=[{"gpu": 1}], max_length=ceilings.SERVERS)
    """what each worker takes of its node, by Ray's names: cpu (1 if not set), gpu, memory, or your own such as { llm = 1 }"""

    @model_validator(mode="after")
    def _named(self) -> Self:
        for name in self.resources:
            if not name or len(name) > ceilings.WORD:
                raise WrongValue("a resource needs a name, such as gpu", "resources")
        return self


def split_cluster_overrides(overrides: Iterable[str]) -> tuple[Cluster | None, tuple[str, ...]]:
    """The [cluster] section that `--set` describes, and all other overrides."""
    changes = tuple(overrides)
    data: dict[str, Any] = {}
    for change in changes:
        if change.startswith(PREFIX):
            apply_override(data, change)
    rest = tuple(change for change in changes if not change.startswith(PREFIX))
    return (validated(Cluster, data["cluster"], "--set", ("cluster",)) if data else None), rest
