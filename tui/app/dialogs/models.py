"""Chooses a model: type to search, choose with the arrow keys, or type a full name that is not in the list."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tidepool.engine.config.sections import Providers
from tidepool.engine.errors import TidepoolError
from tidepool.engine.gate import servers_to_ask_about
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.providers.model_list import ListedProvider, known_models, list_models, listed_names
from tidepool.tui.app.background import run_in_thread, while_open
from tidepool.tui.app.dialogs.basic import SearchDialog, buttons, frame
from tidepool.tui.app.provider_view import price_words
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.app.widgets.rows import Column, Piece, TableRows
from tidepool.tui.drawing.text import has_words, one_line


@dataclass(frozen=True, slots=True)
class OfferedModel:
    name: str
    """as in a config"""
    input: str = ""
    """dollars per million tokens, formatted"""
    output: str = ""
    remark: str = ""
    ready: bool = True
    """whether it can be called"""


def offers_of(listed: Iterable[ListedProvider], providers: Providers) -> list[OfferedModel]:
    """Returns the models: simulated ones first, then those that can be called, then the others."""
    found = [offer for one in listed for offer in _of(one, providers)]
    return sorted(found, key=lambda offer: (not offer.name.startswith("simulated:"), not offer.ready))


def _of(listed: ListedProvider, providers: Providers) -> Iterable[OfferedModel]:
    no_key = listed.key == "missing"
    state = _missing(listed.name, providers) if no_key else "no response" if listed.reached is False else ""
    for model in listed.models:
        notes = (
            "offline, simulated" if listed.name == "simulated" else state,
            f"until {model.retires}" if model.retires else "",
            f"preset {', '.join(model.presets)}" if model.presets else "",
        )
        yield OfferedModel(
            f"{listed.name}:{one_line(model.name)}",
            price_words(model.input_usd),
            price_words(model.output_usd),
            one_line("; ".join(filter(None, notes))),
            not state,
        )


def _missing(name: str, providers: Providers) -> str:
    settings = providers.section(name)
    variable = endpoint_of(name, settings).key_variable if is_endpoint(name, settings) else ""
    return f"no key: {variable}" if variable else "no key"


def narrowed(offers: Sequence[OfferedModel], typed: str) -> list[OfferedModel]:
    """Returns the matching models, matches by name first, and the typed text itself if it is a full name."""
    words, whole = typed.casefold().split(), typed.strip()
    fitting = [one for one in offers if has_words(f"{one.name} {one.input} {one.remark}", typed)]
    found = sorted(fitting, key=lambda one: not all(word in one.name for word in words))
    if ":" in whole and " " not in whole and not whole.endswith(":") and whole not in [one.name for one in found]:
        found.append(OfferedModel(whole, remark="as typed"))
    return found


class OfferList(TableRows[OfferedModel]):
    COLUMNS = (
        Column("model", share=11),
        Column("$/M in", 9, "dim", right=True),
        Column("$/M out", 9, "dim", right=True),
        Column("", style="dim", share=9),
    )
    ID_FIELD = "name"
    empty = "loading models and prices…"

    def cells(self, item: OfferedModel) -> Sequence[str | Piece]:
        styles = ("", "dim") if item.ready else ("dim", "failed")
        return [(item.name, styles[0]), item.input, item.output, (item.remark, styles[1])]


class ModelDialog(SearchDialog[str, OfferedModel]):
    """Returns the model's name as in a config."""

    CSS_PATH = "../screens/compose.tcss"

    def __init__(self, title: str, providers: Providers, chosen: str) -> None:
        super().__init__()
        self._title, self._providers, self._chosen = title, providers, chosen
        self._listed: dict[str, ListedProvider] = {}
        self._offers: list[OfferedModel] = []

    def compose(self) -> ComposeResult:
        with frame(one_line(self._title), "-wide pick", Vertical):
            yield TextLine(placeholder="search, or type PROVIDER:MODEL", id="words", compact=True)
            yield OfferList(id="offers")
            yield Static(Content("$/M: dollars per million tokens. Choose with up and down."), classes="note")
            yield buttons(take="Choose (enter)", cancel="Cancel")

    def matching(self, typed: str) -> list[OfferedModel]:
        return narrowed(self._offers, typed)

    def on_mount(self) -> None:
        self._read()

    @work(group="models", exclusive=True)
    async def _read(self) -> None:
        """Shows known models first, then the lists of providers that have a key and trusted addresses."""
        providers = self._providers
        names = listed_names(providers)

        async def known() -> tuple[list[ListedProvider], list[str]]:
            listed = [known_models(name, providers.section(name)) for name in names]
            usable = [one.name for one in listed if one.key != "missing" and one.name != "simulated"]
            return listed, [name for name in usable if not servers_to_ask_about(name, providers.section(name))]

        try:
            listed, askable = await run_in_thread(known)
            self._put(listed)
            await asyncio.gather(*(self._ask(name) for name in askable))
        except TidepoolError as error:
            self.query_one(".note", Static).update(Content(one_line(str(error))))

    async def _ask(self, name: str) -> None:
        self._put(await run_in_thread(lambda: list_models(self._providers, (name,))))

    def _put(self, listed: Sequence[ListedProvider]) -> None:
        """Updates the list. The typed text stays, and the cursor stays on its model."""
        with while_open(self.app):
            self._listed |= {one.name: one for one in listed}
            self._offers = offers_of(self._listed.values(), self._providers)
            roll = self.query_one(OfferList)
            roll.empty = "no known model matches; you can type PROVIDER:MODEL"
            stay = roll.current.name if roll.current else self._chosen
            roll.show(self.found)
            roll.go_to_item(stay)

    @on(OfferList.Opened)
    def accept(self) -> None:
        if offer := self.chosen:
            self.dismiss(offer.name)
