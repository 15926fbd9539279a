"""What is asked before a batch of a stranger's file goes on: once for all its servers, with models, keys and the price.

Nothing in it is taken from what the file claims of itself: not how much is answered already, nor what a model costs.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.branching.kind import kind_to_run
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.config.freezing import load_frozen, with_overrides
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.errors import TidepoolError
from tidepool.engine.studies.plan import Plan, priced
from tidepool.engine.trust.origins import shown
from tidepool.engine.trust.record import config_hash
from tidepool.engine.trust.servers import NamedServer, judged
from tidepool.storage import batches
from tidepool.storage.file import reading
from tidepool.storage.states import BatchStatus

MOST_SHOWN = 20
"""servers that a question names one by one"""
MEANING = "Yes adds this batch, with the config it has now, to the trust record of this user, and nothing else."


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """Servers and code that only a file names. A yes is for this very config."""

    batch_id: str
    name: str
    config: str
    """letter for letter as the file has it"""
    servers: tuple[NamedServer, ...]
    calls: int | None
    """of the whole study, as planned; None: it cannot be planned"""
    most_usd: float | None
    """what they cost at most, by prices that are known here; None: unknown"""
    code: tuple[str, ...] = ()
    """what would be run on this machine"""

    @property
    def config_hash(self) -> str:
        """What an approval is passed on by."""
        return config_hash(self.config)

    @property
    def title(self) -> str:
        names = [*(["servers"] if self.servers else []), *(["code"] if self.code else [])]
        return f"{' and '.join(names).capitalize()} that only the file names"

    @property
    def asked(self) -> str:
        """What it is about, after the name of the batch."""
        servers = ["would ask servers that are not known here"] if self.servers else []
        return " and ".join([*servers, *(["would run code on this machine"] if self.code else [])])

    def rows(self) -> list[tuple[str, str]]:
        """What there is to look at: every server with its models and keys, then the price."""
        rows: list[tuple[str, str]] = [("runs", shown(words)) for words in self.code]
        for one in self.servers[:MOST_SHOWN]:
            rows += [("server", one.where), ("models", ", ".join(one.models))]
            rows.append(("key", " and ".join(one.keys) or "none is sent"))
        if len(self.servers) > MOST_SHOWN:
            rows.append(("…", f"and {len(self.servers) - MOST_SHOWN:,} servers more"))
        price = "unknown" if self.most_usd is None else f"at most about ${self.most_usd:,.2f}"
        calls = "" if self.calls is None else f" for {self.calls:,} calls; what is answered already is not bought again"
        return [*rows, ("price", f"{price}{calls}")]


def question_about(
    path: Path, reference: str, changes: Iterable[str] = (), plan: Plan | None = None
) -> TrustQuestion | None:
    """None where nothing need be asked before the batch goes on with these `--set` changes; or before what is planned is made
    of it, which may be done with a completed one too."""
    said = tuple(changes)
    with reading(path) as connection:
        batch = batches.find_batch(connection, reference)
    if plan is None and batch["status"] == BatchStatus.COMPLETED:
        return None
    stored = load_frozen(batch["config"])
    config = with_overrides(stored, said)
    kind = kind_to_run(batch, path)
    models, code = kind.models(config), kind.code(config)
    verdict = judged(batch["id"], batch["config"], config, models, said, code)
    if not verdict.strange and not verdict.code:
        return None
    # What a yes adopts is the stored config: servers in it that `--set` replaces this time are told as well.
    servers = dict.fromkeys((*verdict.strange, *judged(batch["id"], batch["config"], stored, models).strange))
    calls, price = price_of(lambda: plan or kind.plan(config), config, tuple(servers))
    return TrustQuestion(batch["id"], batch["name"], batch["config"], tuple(servers), calls, price, verdict.code)


def price_of(
    planned: Callable[[], Plan], config: FrozenConfig, strange: Sequence[NamedServer]
) -> tuple[int | None, float | None]:
    """Calls and money of the whole study. What an endpoint of the file's own making costs nobody here knows."""
    try:
        plan = planned()
        calls = plan.calls_expected
        if any(one.provider not in KNOWN_ENDPOINTS for one in strange):
            return calls, None
        return calls, priced(plan, _without_prices(config))["cost_usd_live"]
    except (TidepoolError, ValueError, OverflowError):
        return None, None


def _without_prices(config: FrozenConfig) -> FrozenConfig:
    """As the tables of prices know them: those that the file declares are its own words."""
    providers = config.providers
    names = type(providers).model_fields
    plain = {name: providers.section(name).model_copy(update={"prices": {}}) for name in names}
    return config.model_copy(update={"providers": providers.model_copy(update=plain)})
