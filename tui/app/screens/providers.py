"""The Providers screen: available models with keys and prices, and test calls."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from textual import on, work
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.errors import TidepoolError
from tidepool.engine.gate import servers_to_ask_about
from tidepool.engine.providers.model_list import ListedModel, ListedProvider, known_models, list_models, listed_names
from tidepool.engine.registries import PROVIDERS
from tidepool.engine.single_call import ask_once, most_cost_of, probe_call
from tidepool.tui.app.background import run_in_thread, while_open
from tidepool.tui.app.dialogs.basic import Confirm
from tidepool.tui.app.provider_view import (
    Card,
    ProviderRules,
    Trial,
    about,
    price_words,
    rules_in_draft,
    state_of,
    usual_model,
)
from tidepool.tui.app.screens.base import ModeScreen
from tidepool.tui.app.theme import STATES
from tidepool.tui.app.widgets.frame import Panel, PanelStrip, TextLine
from tidepool.tui.app.widgets.rows import Column, Piece, ReadingPane, TableRows
from tidepool.tui.drawing.text import at_most, has_words


class ProviderList(TableRows[Card]):
    COLUMNS = (
        Column("", 2),
        Column("provider", 11, "strong"),
        Column("key", 11, "dim"),
        Column("address", style="dim"),
        Column("state", 24),
    )
    ID_FIELD = "name"

    def cells(self, item: Card) -> Sequence[str | Piece]:
        state, colour = state_of(item)
        return [
            (f" {STATES[colour][0]}", colour),
            item.title,
            (item.key_state, "done" if item.key_state == "present" else "dim"),
            item.listed.where if item.listed else "…",
            (state, "dim" if colour == "waiting" else colour),
        ]


class ModelTable(TableRows[ListedModel]):
    """Prices in dollars per million tokens, live and by the batch API."""

    COLUMNS = (
        Column("model", share=3),
        *(Column(title, 8, right=True) for title in ("$/M in", "out")),
        *(Column(title, 8, "dim", right=True) for title in ("batch in", "out")),
        Column("until", 10, "mark"),
        Column("presets", style="accent"),
    )
    ID_FIELD = "name"
    empty = "no models to show"
    _batches = True

    def show_of(self, card: Card, models: Sequence[ListedModel]) -> None:
        self.empty = "connecting…" if card.asking else "no models to show"
        self._batches = card.has_batches
        self.show(models)

    def cells(self, item: ListedModel) -> Sequence[str]:
        batch = (item.batch_input_usd, item.batch_output_usd)
        return [
            item.name,
            price_words(item.input_usd),
            price_words(item.output_usd),
            *(price_words(price) if self._batches else "–" for price in batch),
            item.retires or "",
            ", ".join(item.presets),
        ]


TEST_SECONDS = 30.0
"""time limit of a test call"""


class ProvidersScreen(ModeScreen):
    MODE = "providers"
    PERIOD = 1.0
    CSS_PATH = "providers.tcss"
    HELP = """This screen lists the providers and their models. API keys are read from the environment and passed to the
    provider's SDK. You see only whether a key is present, never the key. Press t to send one short request to the model under
    the cursor, or to the cheapest one. If the request costs money, you are asked first. Prices are in dollars per million
    tokens, live and by the batch API. Addresses and Ollama servers come from the study in Compose, or are the defaults."""
    BINDINGS = [
        Binding("t", "test", "Test call", tooltip="one short request; asks before it costs money"),
        Binding("r", "ask_again", "Refresh", tooltip="check servers and list models again"),
        Binding("tab", "next_panel", "Next tab", tooltip="models, about"),
        Binding("slash", "search", "Search", key_display="/", tooltip="search models", priority=True),
        Binding("escape", "back", "Back to list", show=False),
    ]
    AUTO_FOCUS = "ProviderList"

    def __init__(self) -> None:
        super().__init__()
        self._cards = {name: Card(name) for name in PROVIDERS}
        self._names: list[str] = list(PROVIDERS)
        self._rules: ProviderRules | None = None

    def compose_body(self) -> Iterable[Widget]:
        yield ProviderList(id="providers")
        yield PanelStrip()
        with Horizontal(id="provider-panels"):
            with Vertical(id="provider-models"):
                models = Vertical(
                    TextLine(placeholder="/ search models", id="words", compact=True), ModelTable(id="models")
                )
                yield Panel("Models", models, id="panel-models")
            yield Panel("About", ReadingPane(id="about"), id="panel-about")

    @property
    def roll(self) -> ProviderList:
        return self.query_one(ProviderList)

    @property
    def card(self) -> Card:
        return self.roll.current or self._cards["simulated"]

    async def look(self) -> None:
        """Reads the provider settings of the study in Compose, and asks the providers whose settings changed again."""
        before = self._rules
        rules = await self.tidepool.file.do(rules_in_draft, self.tidepool.path)
        if rules != before:
            self._rules, self._names = rules, listed_names(rules.providers)
            sections = {name: rules.providers.section(name) for name in self._names}
            known = {name: card.settings for name, card in self._cards.items()}
            for name, settings in sections.items():
                self._cards[name] = replace(self._cards.get(name, Card(name)), settings=settings)
            for name, settings in sections.items():
                if before is None or known.get(name) != settings:
                    self._ask(name, automatic=True)
            self._show()

    def _ask(self, name: str, *, automatic: bool) -> None:
        assert self._rules is not None
        self._change(name, asking=True, fault="")
        listed = self._listed(name, self._rules.providers.section(name), automatic=automatic)
        self.run_worker(listed, group=f"ask-{name}", exclusive=True)

    async def _listed(self, name: str, settings: ProviderSettings, *, automatic: bool) -> None:
        """Shows known models first and then the provider's list, so that a silent address does not block the screen.

        If automatic, sends no key to a server that only the draft names.
        """

        async def known() -> ListedProvider:
            return known_models(name, settings)

        async def from_server() -> ListedProvider:
            providers = (self._rules or ProviderRules()).providers
            return (await list_models(providers, (name,)))[0]

        try:
            strange = await self._unknown_servers(name, settings) if automatic else ""
            for step in (known,) if strange else (known, from_server):
                listed = await run_in_thread(step)
                self._change(name, listed=listed, asking=step is known and not strange)
            if strange:
                fault = f"The study in Compose uses the server {strange}. Press r to connect to it."
                self._change(name, fault=fault)
        except TidepoolError as error:
            self._change(name, asking=False, fault=str(error))

    async def _unknown_servers(self, name: str, settings: ProviderSettings) -> str:
        """Describes the servers that only the draft names."""
        servers = await self.tidepool.file.do(servers_to_ask_about, name, settings)
        return "; ".join(server.in_words for server in servers[:3])

    def _change(self, name: str, **changes: Any) -> None:
        self._cards[name] = replace(self._cards[name], **changes)
        with while_open(self.app):
            self._show()

    @on(Input.Changed, "#words")
    def _show(self) -> None:
        self.roll.show([self._cards[name] for name in self._names])
        card = self.card
        words = self.query_one("#words", Input).value
        models = card.listed.models if card.listed else ()
        matching = [model for model in models if has_words(f"{model.name} {' '.join(model.presets)}", words)]
        self.query_one(ModelTable).show_of(card, matching)
        self.query_one("#about", ReadingPane).show(about(card, self._rules or ProviderRules()))

    @on(ProviderList.Highlighted)
    def _moved(self) -> None:
        self.query_one(ModelTable).cursor = 0
        self._show()

    @on(ProviderList.Opened)
    def _opened(self) -> None:
        self.query_one(PanelStrip).choose("panel-models")
        self.query_one(ModelTable).focus()

    def action_ask_again(self) -> None:
        if self._rules is not None:
            for name in self._names:
                self._cards[name] = replace(self._cards[name], trial=None)
                self._ask(name, automatic=name != self.card.name)

    def action_next_panel(self) -> None:
        self.query_one(PanelStrip).choose_next()
        if self.query_one("#panel-models").has_class("-chosen"):
            self.query_one(ModelTable).focus()

    def action_search(self) -> None:
        self.query_one(PanelStrip).choose("panel-models", focus=False)
        self.set_focus(self.query_one("#words", Input))

    @on(Input.Submitted, "#words")
    def _searched(self) -> None:
        self.query_one(ModelTable).focus()

    def action_back(self) -> None:
        self.query_one("#words", Input).value = ""
        self.roll.focus()

    def _model(self) -> str | None:
        """Returns the model under the cursor if the table has the focus, else the default model."""
        chosen = self.query_one(ModelTable).current
        if chosen is not None and self.query_one(ModelTable).has_focus:
            return f"{self.card.name}:{chosen.name}"
        return usual_model(self.card)

    @on(ModelTable.Opened)
    @work(group="test")
    async def action_test(self) -> None:
        card, model, rules = self.card, self._model(), self._rules or ProviderRules()
        if card.trial is not None and card.trial.pending:
            return
        if model is None:
            reason = card.listed.note if card.listed and card.listed.note else "it has not responded yet"
            self.tidepool.show_error(f"{card.title} has no model for a test call: {reason}. Then press r to refresh.")
            return
        call = probe_call(model)
        try:
            cost = await run_in_thread(lambda: most_cost_of(call, rules.providers))
            strange = await self._unknown_servers(card.name, rules.providers.section(card.name))
            if strange or (cost != 0 and card.key_state != "missing"):
                most, where = at_most(cost), f" at {strange}" if strange else ""
                question = (
                    f"Send one short request to {model}{where}, {most}? It is charged to the owner of the API key."
                )
                if not await self.app.push_screen_wait(Confirm(question, "Send", no="Cancel", title="Paid request")):
                    return
            self._change(card.name, trial=Trial(model))
            self.query_one(PanelStrip).choose("panel-about", focus=False)
            reply = await run_in_thread(lambda: ask_once(call, providers=rules.providers, patience=TEST_SECONDS))
            trial = Trial(model, reply)
        except TidepoolError as error:
            trial = Trial(model, fault=str(error))
        except asyncio.CancelledError:
            self._cards[card.name] = replace(self._cards[card.name], trial=None)
            raise
        self._change(card.name, trial=trial)
