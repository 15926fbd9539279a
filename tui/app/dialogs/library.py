"""Dialogs of the library: import a file, generate entities, edit an entity type, try an agent."""

import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Label, Select, Static, TextArea

from tidepool.engine.config.entity_types import EntityType, entity_type_from, generate, writing_tasks
from tidepool.engine.config.sections import Agent, Providers
from tidepool.engine.config.toml_files import FORM, find_slip
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.engine.gate import servers_to_ask_about
from tidepool.engine.single_call import Price, ask_once, price_of
from tidepool.engine.studies.secret_game.trial import trial_call
from tidepool.storage.library import StoredType
from tidepool.tui.app.background import run_in_thread, while_open
from tidepool.tui.app.compose.fields import inline_toml, restored, toml_key, visible
from tidepool.tui.app.dialogs.basic import Dialog, buttons, fault_line, frame, paragraph
from tidepool.tui.app.dialogs.form import SavingDialog
from tidepool.tui.app.library_items import examples
from tidepool.tui.app.provider_view import Trial
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.app.widgets.rows import Passage, ReadingPane
from tidepool.tui.drawing.text import at_most, one_line, shortened, span

HOLDS = {"entities": "entities, or entity types", "agents": "agents"}


class ImportDialog(SavingDialog):
    """A file with a mistake in it is refused as a whole, told in words; the path stays where it was typed."""

    AUTO_FOCUS = "#path"

    def __init__(self, shelf: str, keep: Callable[[str, Path], Awaitable[str]]) -> None:
        super().__init__()
        self._shelf = "agents" if shelf == "agents" else "entities"
        self._keep = keep

    def compose(self) -> ComposeResult:
        with frame("Import a file", "-import", can_focus=False):
            yield Label("it holds")
            choices = [(words, shelf) for shelf, words in HOLDS.items()]
            yield Select(choices, value=self._shelf, allow_blank=False, id="holds", compact=True)
            yield Label("path of a .json, .toml or .csv file")
            yield TextLine(placeholder="people.csv", id="path", compact=True)
            yield fault_line()
            yield buttons(keep="Import (enter)", cancel="Cancel")

    @on(Input.Changed)
    def _typed(self) -> None:
        self.fault("")

    async def save(self) -> str | None:
        words = self.query_one("#path", Input).value.strip()
        if not words:
            self.fault("Which file? Give its path.")
            return None
        return await self._keep(str(self.query_one("#holds", Select).value), Path(words))


MOST = 100_000
USUAL = "human"


@dataclass(frozen=True, slots=True)
class Wish:
    type: EntityType
    count: int
    seed: int


class GenerateDialog(SavingDialog):
    AUTO_FOCUS = "#count"

    def __init__(self, types: Sequence[EntityType], here: str, keep: Callable[[Wish], Awaitable[str]]) -> None:
        super().__init__()
        self._types = {kind.name: kind for kind in types}
        self._here = next(name for name in (here, USUAL, *self._types) if name in self._types)
        self._keep = keep

    def compose(self) -> ComposeResult:
        with frame("Generate entities", "-wide -generate", can_focus=False):
            with Horizontal(classes="pair"):
                yield Label("type")
                names = [(Content(one_line(name)), name) for name in self._types]
                yield Select(names, value=self._here, allow_blank=False, id="type", compact=True)
            with Horizontal(classes="pair"):
                yield Label("how many")
                yield TextLine("10", id="count", compact=True)
                yield Label("seed")
                yield TextLine("42", id="seed", compact=True)
            yield Static("", id="writing", classes="note")
            yield ReadingPane(id="examples")
            yield fault_line()
            yield buttons(keep="Generate (ctrl+s)", cancel="Cancel")

    def on_mount(self) -> None:
        self._look()

    @on(Input.Changed)
    @on(Select.Changed)
    def _look(self) -> Wish | None:
        try:
            wish = self.wish()
        except UsageError as error:
            self.fault(str(error))
            return None
        self.fault("")
        self.query_one(ReadingPane).show(examples(wish.type, wish.seed, min(3, wish.count)))
        left = ", ".join(task.dimension for task in writing_tasks(wish.type, generate(wish.type, 1, 0)[0]))
        note = f"Left out: {one_line(left)}. `tidepool entities generate --model MODEL` has a model write them."
        self.query_one("#writing", Static).update(Content(note if left else ""))
        return wish

    def wish(self) -> Wish:
        """Raises UsageError where something cannot be."""
        kind = self._types[str(self.query_one("#type", Select).value)]
        count, seed = (_whole(self.query_one(f"#{name}", Input).value, name) for name in ("count", "seed"))
        if not 1 <= count <= MOST:
            raise UsageError(f"How many? From 1 to {MOST:,}.")
        return Wish(kind, count, seed)

    async def save(self) -> str | None:
        if (wish := self._look()) is None:
            return None
        return await self._keep(wish)


def _whole(text: str, name: str) -> int:
    try:
        return int(text.strip().replace(",", "").replace("_", ""))
    except ValueError:
        words = {"count": "How many? Give a whole number.", "seed": "A seed is a whole number."}
        raise UsageError(words[name]) from None


NEW_TYPE = """name = "villager"
description = "Somebody of the village"
portrait = "{name}, {age} years old, {trade}."
first_names = ["Ada", "Bela", "Cleo", "Dov"]
last_names = ["Marsh", "Stone", "Birch"]

[[dimensions]]
name = "age"
kind = "int"                  # int, float, boolean, categorical, text
range = [18, 90]
spread = "skewed"             # uniform, normal, skewed

[[dimensions]]
name = "trade"
kind = "categorical"
options = { baker = 3, smith = 2, miller = 1 }
"""

TYPE_FORM = 'A type is TOML: keys such as name = "villager", then [[dimensions]] with their own.'


def type_text(definition: Mapping[str, Any]) -> str:
    """A type as one would write it: each dimension a table of its own."""
    head = {key: value for key, value in definition.items() if key != "dimensions"}
    return "\n".join([_keys(head), *(f"[[dimensions]]\n{_keys(one)}" for one in definition.get("dimensions") or ())])


def _keys(record: Mapping[str, Any]) -> str:
    values = {key: value for key, value in record.items() if value is not None}
    return "".join(f"{toml_key(key)} = {inline_toml(value)}\n" for key, value in values.items())


def read_type(text: str) -> tuple[StoredType, EntityType]:
    """Raises UsageError, in words."""
    try:
        record = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        line, words = find_slip(text, str(error))
        raise UsageError(f"Line {line}: {words.replace(FORM, TYPE_FORM)}") from None
    kind = entity_type_from(record, "the type")
    return StoredType(kind.name, record), kind


class TypeDialog(SavingDialog):
    AUTO_FOCUS = "TextArea"

    def __init__(self, title: str, text: str, keep: Callable[[StoredType], Awaitable[str]], *, note: str = "") -> None:
        super().__init__()
        self._title, self._note = title, note
        self._before = text
        self._keep = keep

    def compose(self) -> ComposeResult:
        with frame(self._title, "-wide -form -type", Vertical):
            if self._note:
                yield paragraph(self._note)
            yield TextArea.code_editor(
                visible(self._before), language="toml", theme="css", soft_wrap=True, tab_behavior="focus"
            )
            yield fault_line()
            yield ReadingPane(id="examples")
            yield buttons(keep="Save (ctrl+s)", cancel="Cancel")

    @property
    def text(self) -> str:
        return restored(self.query_one(TextArea).text)

    def changed(self) -> bool:
        return self.text != self._before

    def on_mount(self) -> None:
        self._look()

    @on(TextArea.Changed)
    def _look(self) -> StoredType | None:
        """What the type would generate, or what is wrong with it."""
        try:
            stored, kind = read_type(self.text)
        except UsageError as error:
            self.fault(str(error))
            return None
        self.fault("")
        self.query_one(ReadingPane).show(examples(kind, 42, 2))
        return stored

    async def save(self) -> str | None:
        stored = self._look()
        return None if stored is None else await self._keep(stored)


class TryDialog(Dialog[None]):
    BINDINGS = [Binding("ctrl+s", "send", "Send", priority=True)]
    CSS_PATH = ["../screens/compose.tcss", "../screens/library.tcss"]
    AUTO_FOCUS = "#message"

    def __init__(self, agent: Agent, providers: Providers) -> None:
        super().__init__()
        self._agent, self._providers = agent, providers
        self._exchanges: list[Trial] = []
        self._waiting = False

    def compose(self) -> ComposeResult:
        with frame(f"Try {one_line(self._agent.name)}", "-wide -form -try", Vertical):
            yield Static("", id="price", classes="note")
            yield ReadingPane(id="answers", empty="what it answers will stand here")
            yield TextLine(placeholder="say something to it", id="message", compact=True)
            yield buttons(send="Send (enter)", cancel="Close")

    def on_mount(self) -> None:
        self._show_price()

    @work(exclusive=True, group="price")
    async def _show_price(self) -> None:
        try:
            call = trial_call(self._agent, "x" * 200)
            price = await run_in_thread(lambda: price_of(call, self._providers))
            provider = call.model.partition(":")[0]
            servers = servers_to_ask_about(provider, self._providers.section(provider))
        except TidepoolError as error:
            content = Content.styled(shortened(str(error)), "$state-failed")
        else:
            where = "".join(f"\nIt is asked at {one.in_words}, as the study in Compose says." for one in servers[:3])
            content = price_text(price, secret=bool(self._agent.secret)) + Content(where)
        with while_open(self.app):
            self.query_one("#price", Static).update(content)

    def accept(self) -> None:
        self.action_send()

    def action_send(self) -> None:
        """One at a time: a second press while one is under way would buy twice."""
        message = self.query_one("#message", Input).value.strip()
        if message and not self._waiting:
            self._send(message)

    @work(group="send")
    async def _send(self, message: str) -> None:
        self._waiting = True
        place = len(self._exchanges)
        self._exchanges.append(Trial(message))
        self._show()
        try:
            call = trial_call(self._agent, message)
            reply = await run_in_thread(lambda: ask_once(call, place, self._providers))
            self._exchanges[place] = Trial(message, reply)
        except TidepoolError as error:
            self._exchanges[place] = Trial(message, fault=str(error))
        finally:
            self._waiting = False
        with while_open(self.app):
            self._show()

    def _show(self) -> None:
        passages = [
            passage for exchange in self._exchanges for passage in exchange_passages(self._agent.name, exchange)
        ]
        self.query_one(ReadingPane).show(passages, at_end=True)


def price_text(price: Price, *, secret: bool) -> Content:
    """Which model will answer, and what that costs, before anything is sent."""
    manner = "asked as in the secret game, by a visitor" if secret else "asked as itself, with its instructions"
    where = Content.assemble((one_line(price.model), "bold"), f" · {manner}")
    if price.simulated:
        return Content.assemble(where, "\n", ("simulated answers: offline, free", "$accent"))
    if price.free:
        return Content.assemble(where, "\n", ("a model of your own: free", "$accent"))
    return Content.assemble(where, "\n", (f"each message you send is bought, {at_most(price.most_usd)}", "$warning"))


def exchange_passages(name: str, exchange: Trial) -> list[Passage]:
    passages = [Passage("you", "accent"), Passage(exchange.prompt)]
    if exchange.fault:
        return [*passages, Passage("no answer", "failed"), Passage(exchange.fault, "failed"), Passage("")]
    if exchange.reply is None:
        return [*passages, Passage("waiting for the answer …", "running"), Passage("")]
    reply = exchange.reply
    kind = "simulated answer" if reply.simulated else reply.model
    usage = f"{reply.input_tokens} + {reply.output_tokens} tokens"
    return [
        *passages,
        Passage(name, "accent"),
        Passage(f"{kind} · {span(reply.seconds)} · {usage} · {exchange.cost}", "mark" if reply.simulated else "dim"),
        Passage(reply.text if reply.text.strip() else "(it said nothing)"),
        *(Passage(notice, "retried") for notice in reply.notices),
        Passage(""),
    ]
