"""So many entities of a type, from a seed; what they will be like shows before they are made."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Button, Checkbox, Input, Label, Select, Static

from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.loading import declared_model, user_providers
from tidepool.engine.errors import UsageError
from tidepool.engine.library.entity_types import EntityType, generate, writing_tasks
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.tui.app.compose_model.model_names import offered_names
from tidepool.tui.app.dialogs.form import KeepingDialog
from tidepool.tui.app.library_view.details import examples
from tidepool.tui.app.widgets.form.editors import Tick
from tidepool.tui.app.widgets.reading import ReadingPane
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.drawing.text import one_line

MOST = 100_000
USUAL = "human"


@dataclass(frozen=True, slots=True)
class Wish:
    type: EntityType
    count: int
    seed: int
    writer: str = ""
    """the model that writes what the type leaves to one"""
    backstory: bool = False


class GenerateDialog(KeepingDialog):
    AUTO_FOCUS = "#count"

    def __init__(self, types: Sequence[EntityType], here: str, keep: Callable[[Wish], Awaitable[str]]) -> None:
        super().__init__()
        self._types = {kind.name: kind for kind in types}
        self._here = next(name for name in (here, USUAL, *self._types) if name in self._types)
        self._keep = keep

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog -wide -generate", can_focus=False) as box:
            box.border_title = Content("Generate entities")
            with Horizontal(classes="pair"):
                yield Label("type")
                names = [(Content(one_line(name)), name) for name in self._types]
                yield Select(names, value=self._here, allow_blank=False, id="type", compact=True)
            with Horizontal(classes="pair"):
                yield Label("how many")
                yield TextLine("10", id="count", compact=True)
                yield Label("seed")
                yield TextLine("42", id="seed", compact=True)
            with Horizontal(classes="pair"):
                yield Label("texts by")
                offered = SuggestFromList(offered_names(), case_sensitive=False)
                yield TextLine(placeholder="a model, or nobody", id="writer", compact=True, suggester=offered)
                yield Tick("with a backstory", id="backstory", compact=True)
            yield Static("", id="writing", classes="note")
            yield ReadingPane(id="examples")
            yield Static("", id="fault", classes="fault")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Generate (ctrl+s)", id="keep", variant="primary")
                yield Button("Cancel", id="cancel")

    def on_mount(self) -> None:
        self._look()

    @on(Input.Changed)
    @on(Select.Changed)
    @on(Checkbox.Changed)
    def _look(self) -> Wish | None:
        try:
            wish = self.wish()
        except UsageError as error:
            self.fault(str(error))
            return None
        self.fault("")
        self.query_one(ReadingPane).show(examples(wish.type, wish.seed, min(3, wish.count)))
        self.query_one("#writing", Static).update(Content(_told(wish)))
        return wish

    def wish(self) -> Wish:
        """Raises UsageError where something cannot be."""
        kind = self._types[str(self.query_one("#type", Select).value)]
        count, seed = (_whole(self.query_one(f"#{name}", Input).value, name) for name in ("count", "seed"))
        if not 1 <= count <= MOST:
            raise UsageError(f"How many? From 1 to {MOST:,}.")
        writer = self.query_one("#writer", Input).value.strip()
        backstory = self.query_one("#backstory", Checkbox).value
        if writer:
            declared_model(writer)
        elif backstory:
            raise UsageError("A backstory needs a model that writes it: name one, such as simulated:persona.")
        return Wish(kind, count, seed, writer, backstory)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_keep()

    async def kept(self) -> str | None:
        if (wish := self._look()) is None:
            return None
        self.fault("making them …" if not wish.writer else f"{wish.writer} is writing …")
        try:
            return await self._keep(wish)
        finally:
            self.fault("")


def calls_of(wish: Wish) -> int:
    """Texts that a model will be asked for."""
    if not wish.writer:
        return 0
    return wish.count * (len(_left(wish.type)) + wish.backstory)


def _left(kind: EntityType) -> list[str]:
    return [task.dimension for task in writing_tasks(kind, generate(kind, 1, 0)[0])]


def _told(wish: Wish) -> str:
    if calls := calls_of(wish):
        free = _is_free(wish.writer)
        return f"{calls:,} texts will be asked of {one_line(wish.writer)}" + ("." if free else ", which costs money.")
    if left := _left(wish.type):
        return f"Left out unless a model writes them: {one_line(', '.join(left))}."
    return ""


def _is_free(writer: str) -> bool:
    """Without a look at tables of prices, which would hold up the form."""
    name, _, model_name = resolve_model(writer).partition(":")
    settings = user_providers().section(name)
    tag = endpoint_of(name, settings).price(model_name) if is_endpoint(name, settings) else None
    return name == "simulated" or (tag is not None and tag.cost(1, 1) == 0)


def _whole(text: str, name: str) -> int:
    try:
        return int(text.strip().replace(",", "").replace("_", ""))
    except ValueError:
        words = {"count": "How many? Give a whole number.", "seed": "A seed is a whole number."}
        raise UsageError(words[name]) from None
