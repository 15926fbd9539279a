"""The gate for batches that were not created here.

A batch is the user's own if the trust record knows its id with the hash of the config that its file has now. If it runs
code, every stored reply must also have this user's seal. Any other batch runs without a question only if all its models are
simulated and it runs no code. Otherwise it is refused until the user agrees to what it would do: with `--trust`, `tidepool
trust add`, or the question in a terminal or the app. A yes makes it the user's own in its current state.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.loading import user_providers
from tidepool.engine.config.sections import FrozenConfig, ProviderSettings
from tidepool.engine.errors import FileError, NotTrusted, TidepoolError
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint, is_loopback
from tidepool.engine.registries import KINDS, PROVIDERS
from tidepool.engine.reports.blocks import money
from tidepool.engine.runtime.plans import Plan, priced
from tidepool.engine.studies.study import Study, study_from
from tidepool.engine.trust.foreign_keys import foreign_keys, foreign_provider_keys, without_foreign
from tidepool.engine.trust.record import ReplySeals, trust_record
from tidepool.storage import batches
from tidepool.storage.file import reading, settle, writing

MOST_SHOWN = 20
"""servers that a question lists one by one; more cannot be reviewed, and are refused"""
SENT_BY_SDKS = ("CUSTOM_HEADERS", "ORG_ID", "PROJECT_ID")
"""endings of variables whose values an SDK sends with the key"""
FOREIGN = "was not created on this machine, or was changed afterwards"
MEANING = "If you answer yes, you trust this batch as it is now, and nothing else. It becomes one of your own."


@dataclass(frozen=True, slots=True)
class NamedServer:
    """A server that would get requests, and what they contain."""

    provider: str
    address: str
    """empty: an installed provider decides it, or it is unknown"""
    models: tuple[str, ...]
    keys: tuple[str, ...]
    """variables whose values would be sent"""

    @property
    def where(self) -> str:
        return shown(self.address) or f"an address that the provider {self.provider} chooses"

    @property
    def in_words(self) -> str:
        models = f"{', '.join(map(shown, self.models))} at " if self.models else ""
        return f"{models}{self.where} ({'with ' + ' and '.join(self.keys) if self.keys else 'without a key'})"


def shown(text: str, most: int = 200) -> str:
    """The text in a question: lookalike letters and line breaks are escaped."""
    return "".join(one if " " <= one <= "~" else one.encode("unicode_escape").decode() for one in text[:most])


def servers_of(config: FrozenConfig, models: Iterable[str]) -> list[NamedServer]:
    """Every server that requests to these models would go to. Simulated models have none."""
    by_provider: dict[str, list[str]] = {}
    for model in sorted(models):
        by_provider.setdefault(model.partition(":")[0], []).append(model)
    by_provider.pop("simulated", None)
    by_name = (_servers(name, config.providers.section(name), names) for name, names in sorted(by_provider.items()))
    return [server for servers in by_name for server in servers]


def _servers(provider: str, settings: ProviderSettings, models: Iterable[str] = ()) -> Iterator[NamedServer]:
    if not is_endpoint(provider, settings):  # of an installed package, which decides itself what it reads
        yield NamedServer(provider, settings.base_url or "", tuple(models), tuple(PROVIDERS[provider].keys))
        return
    endpoint = endpoint_of(provider, settings)
    present = tuple(name for name, is_set in endpoint.keys_looked_for if is_set)
    keys = present or (endpoint.key_variables[:1] if endpoint.key_needed else ())
    if endpoint.by_environment:
        keys += tuple(name for name in (f"{provider.upper()}_{end}" for end in SENT_BY_SDKS) if os.environ.get(name))
    for address in endpoint.addresses or ("",):
        yield NamedServer(provider, address, tuple(models), keys)


def servers_named_by(provider: str, settings: ProviderSettings, models: Iterable[str] = ()) -> list[NamedServer]:
    """Servers that a section names itself, in contrast to the provider's usual address and key and to the user's providers.toml."""
    keys = settings.model_dump(exclude_unset=True)
    foreign_names = {str(key) for *_, key in foreign_provider_keys({"providers": {provider: keys}})} - {"prices"}
    if provider == "simulated" or not foreign_names:
        return []
    declared = user_providers()
    user_keys = declared.section(provider).model_dump() if declared.section_type(provider) else {}
    if all(keys[key] == user_keys.get(key) for key in foreign_names):
        return []
    return list(_servers(provider, settings, models))


def servers_to_ask_about(provider: str, settings: ProviderSettings) -> list[NamedServer]:
    """Servers of a draft that are not contacted just because a screen lists models. Loopback servers without a key are."""
    return [server for server in servers_named_by(provider, settings) if server.keys or not is_loopback(server.address)]


def servers_to_name(config: FrozenConfig, models: Iterable[str]) -> list[NamedServer]:
    """Servers that the config names, to be shown before anything is sent."""
    return [
        server
        for server in servers_of(config, models)
        if server in servers_named_by(server.provider, config.providers.section(server.provider), server.models)
    ]


@dataclass(frozen=True, slots=True)
class Admission:
    """What a batch would do here with the config in its file; empty if it is the user's own."""

    batch_id: str
    frozen: str
    own: bool
    servers: tuple[NamedServer, ...] = ()
    code: tuple[str, ...] = ()

    @property
    def needs_trust(self) -> bool:
        return not self.own and bool(self.servers or self.code)

    def refuse(self, file: str = "") -> None:
        """Raises an error before anything is sent or run. `file`: the option with which a command finds the batch."""
        if not self.needs_trust:
            return
        more = f", and {len(self.servers) - 5:,} more" if len(self.servers) > 5 else ""
        asks = [f"send requests to {'; '.join(one.in_words for one in self.servers[:5])}{more}"] if self.servers else []
        runs = [f"run code on this machine: {'; '.join(map(shown, self.code))}"] if self.code else []
        raise NotTrusted(
            f"Batch {self.batch_id} {FOREIGN}. It would {' and '.join(asks + runs)}. "
            "Nothing was sent or run. If you trust it as it is now, add --trust, or make it yours: "
            f"tidepool {file}trust add {self.batch_id}."
        )


def judge(batch_id: str, frozen: str, study: Study) -> Admission:
    """`frozen` is the config in the file; that of the study may have `--set` changes."""
    if trust_record().knows(batch_id, frozen):
        return Admission(batch_id, frozen, own=True)
    return foreign(batch_id, frozen, study)


def foreign(batch_id: str, frozen: str, study: Study) -> Admission:
    """Everything that a batch would do here, for any owner."""
    config = study.config
    package = KINDS.package_of(config.batch.kind)
    code = (*study.code(), *([f"the study kind of the installed package {package}"] if package else []))
    return Admission(batch_id, frozen, False, tuple(servers_of(config, config.models())), code)


def admit(connection: sqlite3.Connection, batch: sqlite3.Row, study: Study) -> Admission:
    """The same for a batch that continues: if it runs code, its stored replies must be this user's too."""
    if batch["kind"] != study.config.batch.kind:  # the column is not part of the hash
        raise FileError(
            f"Batch {batch['id']} is stored as another kind of study than its config says. The file was changed or is damaged."
        )
    admission = judge(batch["id"], batch["config"], study)
    if batch["origin"] is not None and not trust_record().knows(batch["id"], batch["origin"]):
        return foreign(batch["id"], batch["config"], study)
    if not admission.own or not (code := study.code()):
        return admission
    seals = ReplySeals()
    if changed := sum(not seals.admits(*reply) for reply in batches.replies_of(connection, batch["number"])):
        words = f"{changed:,} stored replies that were changed or came from another machine"
        return replace(admission, own=False, code=(*code, words))
    return admission


def judge_together(admissions: Sequence[Admission], studies: Iterable[Study]) -> list[Admission]:
    """Judges the cells of one run, which share accounts and a process. Unless all are the user's own, each is judged by the
    servers and the code of all."""
    if all(admission.own for admission in admissions):
        return list(admissions)
    wholes = [foreign("", "", study) for study in studies]
    models: dict[NamedServer, set[str]] = {}
    for server in (server for whole in wholes for server in whole.servers):
        models.setdefault(replace(server, models=()), set()).update(server.models)
    servers = tuple(replace(server, models=tuple(sorted(names))) for server, names in models.items())
    code = tuple(dict.fromkeys(words for one in (*wholes, *admissions) for words in one.code))
    return [replace(admission, own=False, servers=servers, code=code) for admission in admissions]


def plannable(batch_id: str, frozen: str) -> str:
    """A stored config for a plan. A plan opens providers, and an installed one may act on any of its keys."""
    load_frozen(frozen)  # raises the errors of the config
    if trust_record().knows(batch_id, frozen):
        return frozen
    config = json.loads(frozen)
    return json.dumps(
        without_foreign(config, ((path, None) for path in foreign_provider_keys(config))), ensure_ascii=False
    )


def copied_config(batch_id: str, frozen: str) -> dict[str, Any]:
    """The config of a batch as the start of a new one, which will be the user's own."""
    config = json.loads(frozen)
    for name in ("design", "cluster"):  # a frozen config has neither
        config.pop(name, None)
    return config if trust_record().knows(batch_id, frozen) else without_foreign(config)


def omitted_keys(batch_id: str, frozen: str) -> list[str]:
    """The keys that such a copy loses."""
    config = json.loads(frozen)
    paths = [] if trust_record().knows(batch_id, frozen) else [path for path, _ in foreign_keys(config)]
    return [shown(".".join(map(str, path))) for path in paths]


def adopt(path: Path, batch_id: str, config: str) -> None:
    """Makes the batch the user's own with exactly this config, as it was shown, while its lock is held."""
    with batches.holding(path, batch_id):
        origin = refuse_changed(path, batch_id, config)["origin"]
        frozen = load_frozen(config)
        if study_from(frozen).code():
            with writing(path) as connection:
                batches.seal_replies(connection, batch_id, ReplySeals().received)
            trust_record().store_folder(batch_id, Path.cwd())
        mark_trusted(batch_id, config, origin)
    settle(path)


def mark_trusted(batch_id: str, config: str, origin: str | None) -> None:
    """Marks the batch as the user's own with this config and, if it is a branch, with its origin."""
    for text in filter(None, (config, origin)):
        trust_record().mark_trusted({batch_id: text})


def design_text(design: Mapping[str, Any]) -> str:
    """A study's design, as the trust record stores it."""
    return json.dumps(design, sort_keys=True, ensure_ascii=False)


def refuse_changed(path: Path, batch_id: str, config: str) -> sqlite3.Row:
    """Checks, while the batch's lock is held, that the file still has the config that was shown or judged."""
    with reading(path) as connection:
        batch = batches.find_batch(connection, batch_id)
    if batch["config"] != config:
        raise NotTrusted(
            f"The config of batch {batch_id} was just changed by another process. Nothing was sent. Try again."
        )
    return batch


def rewrite_configs(path: Path, configs: Mapping[str, tuple[str, str]], note: str = "") -> None:
    """Writes changed limits into the configs of batches, by id: before and after. The user's own batches stay trusted."""
    own = {batch_id: change for batch_id, change in configs.items() if trust_record().knows(batch_id, change[0])}
    with trust_record().renewing(own) if own else nullcontext():
        batches.rewrite_configs(path, {batch_id: after for batch_id, (_, after) in configs.items()}, note)


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """A question about everything that a run would do. A yes covers exactly these configs."""

    run_id: str
    name: str
    admissions: Sequence[Admission]
    """of its batches; each has the servers and the code of all"""
    calls: int | None
    """requests of the whole study, as planned; None: it cannot be planned"""
    most_usd: float | None
    """their maximum cost, by prices that are known here; None: unknown"""
    provider_batches: int = 0
    """open provider batches that the file attributes to the user"""
    folder: Path | None = None
    """the folder with the files of its code; None: the working folder"""

    @property
    def admission(self) -> Admission:
        return self.admissions[0]

    def adopt(self, path: Path) -> None:
        """After a yes: makes the batches the user's own, as they were shown."""
        for admission in self.admissions:
            adopt(path, admission.batch_id, admission.frozen)

    def rows(self) -> list[tuple[str, str]]:
        """Everything that a yes allows, and the price."""
        servers = self.admission.servers
        rows: list[tuple[str, str]] = [("runs", shown(words)) for words in self.admission.code]
        if rows:
            rows.append(("folder", f"{self.folder or Path.cwd()} (the folder with its files)"))
        for server in servers:
            rows += [
                ("server", server.where),
                ("models", ", ".join(map(shown, server.models))),
                ("key", " and ".join(server.keys) or "none"),
            ]
        if self.provider_batches:
            several = "es" if self.provider_batches > 1 else ""
            words = f"for {self.provider_batches:,} provider batch{several} in your account, which it may cancel"
            rows.append(("waits", words))
        if servers:
            price = "unknown" if self.most_usd is None else f"at most {money(self.most_usd)}"
            rows.append(
                ("price", price if self.calls is None else f"{price} for the whole study ({self.calls:,} requests)")
            )
        return rows


def question_for(
    run_id: str,
    name: str,
    admissions: Sequence[Admission],
    planned: Sequence[tuple[Callable[[], Plan], FrozenConfig]],
    provider_batches: int = 0,
    folder: Path | None = None,
) -> TrustQuestion | None:
    """None if no question is needed. `planned`: how to plan each cell, with its config."""
    if not any(admission.needs_trust for admission in admissions):
        return None
    if len(admissions[0].servers) > MOST_SHOWN:
        admissions[0].refuse()
    prices = [price_of(plan, config, admissions[0].servers) for plan, config in planned]
    calls = [count for count, _ in prices if count is not None]
    costs = [cost for _, cost in prices if cost is not None]
    return TrustQuestion(
        run_id,
        name,
        admissions,
        sum(calls) if len(calls) == len(prices) else None,
        sum(costs) if len(costs) == len(prices) else None,
        provider_batches,
        folder,
    )


def price_of(
    planned: Callable[[], Plan], config: FrozenConfig, servers: Sequence[NamedServer]
) -> tuple[int | None, float | None]:
    """Requests and money of the whole study, by the prices of this machine, since the file may state false ones."""
    try:
        plan = planned()
        if any(server.provider not in KNOWN_ENDPOINTS for server in servers):
            return plan.calls_expected, None
        providers = config.providers
        plain = {
            name: providers.section(name).model_copy(update={"prices": {}}) for name in type(providers).model_fields
        }
        unpriced = config.model_copy(update={"providers": providers.model_copy(update=plain)})
        costs = priced(plan, unpriced)
        return plan.calls_expected, costs["at_most"]["cost_usd"] if costs["at_most"] else costs["cost_usd_live"]
    except (TidepoolError, ValueError, OverflowError):
        return None, None
