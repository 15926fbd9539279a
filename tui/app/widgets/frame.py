"""The parts around a screen's content: navigation, footer, panels, tab strips, cards, one-line fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, HorizontalGroup, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Input, Static
from textual.widgets._footer import FooterKey, FooterLabel

from tidepool.tui.app.kind_screens import STARTERS, Starter
from tidepool.tui.drawing.text import one_line


class TextLine(Input):
    def on_click(self, event: events.Click) -> None:
        """Selects all text on a double click, so that typing replaces it."""
        if event.chain == 2:
            self.select_all()

    def on_paste(self, event: events.Paste) -> None:
        """Joins the lines of a paste, because Textual inserts only the first one."""
        lines = event.text.splitlines()
        if len(lines) > 1:
            event.text = " ".join(filter(None, map(str.strip, lines)))


PLACES = {
    "batches": ("1", "Batches"),
    "compose": ("2", "Compose"),
    "watch": ("3", "Watch"),
    "results": ("4", "Results"),
    "library": ("5", "Library"),
    "providers": ("6", "Providers"),
}
"""mode → (key, title)"""


class Name(Static):
    def __init__(self, name: str, title: str) -> None:
        super().__init__(Content(title), name=name)
        self.title = title
        self._mark = Content("")

    def mark(self, words: Content) -> None:
        if words != self._mark:
            self._mark = words
            self.update(Content.assemble(self.title, words))

    def on_click(self) -> None:
        if isinstance(self.parent, NameStrip):
            self.parent.choose(self.name or "")


class NameStrip(Horizontal, can_focus=True):
    BINDINGS = [
        Binding("left,h", "step(-1)", "Previous", show=False),
        Binding("right,l", "step(1)", "Next", show=False),
    ]

    @dataclass
    class Chosen(Message):
        strip: "NameStrip"
        name: str

        @property
        def control(self) -> "NameStrip":
            return self.strip

    def __init__(self, names: Mapping[str, str], here: str, *, title: str = "", id: str) -> None:
        super().__init__(id=id)
        self._names = dict(names)
        self._title = title
        self.here = here

    def compose(self) -> Sequence[Static]:
        first = [Static(Content(self._title), classes="strip-title")] if self._title else []
        return [*first, *(Name(name, title) for name, title in self._names.items())]

    def on_mount(self) -> None:
        self.show(self.here)

    async def set_names(self, names: Mapping[str, str], here: str) -> None:
        """Replaces the names if they differ."""
        if list(names.items()) != list(self._names.items()):
            self._names = dict(names)
            await self.query(Name).remove()
            await self.mount_all(Name(name, title) for name, title in names.items())
        self.show(here)

    def show(self, here: str) -> None:
        """Marks a name as chosen without a message."""
        self.here = here
        for one in self.query(Name):
            one.set_class(one.name == here, "-here")

    def mark(self, words: Mapping[str, Content]) -> None:
        """Sets the mark after each of these names."""
        for one in self.query(Name):
            one.mark(words.get(one.name or "", Content("")))

    def choose(self, name: str) -> None:
        """Shows the choice at once, so that further keys start from there. A receiver that refuses it shows another name."""
        if name != self.here:
            self.show(name)
            self.post_message(self.Chosen(self, name))

    def action_step(self, by: int) -> None:
        names = list(self._names)
        place = names.index(self.here) if self.here in names else 0
        self.choose(names[(place + by) % len(names)])


class Navigation(NameStrip, can_focus=False):
    """The names of the screens, and the name of the file."""

    def __init__(self, here: str) -> None:
        super().__init__({mode: f"{key} {title}" for mode, (key, title) in PLACES.items()}, here, id="navigation")

    def compose(self) -> Sequence[Static]:
        path = getattr(self.app, "path", None)
        return [*super().compose(), Static(Content(one_line(path.name) if path else ""), id="file-name")]

    def choose(self, name: str) -> None:
        self.call_next(self.run_action, f"app.go('{name}')")


ALWAYS = ("help", "command_palette", "quit")
"""actions at the right end of the footer at any width, because they lead to all others"""


class KeyLine(Footer):
    """The footer. It is rebuilt only if the keys change, because every move of the focus requests it. The last keys are omitted
    if they do not fit."""

    def __init__(self, *, compact: bool) -> None:
        super().__init__(show_command_palette=False, compact=compact)
        self._keys: list[tuple[str, str, bool]] = []
        """the shown keys"""
        self._fitted_to = 0

    def compose(self) -> ComposeResult:
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        always = sorted((key for key in keys if key.action in ALWAYS), key=lambda key: ALWAYS.index(key.action))
        self._fitted_to = self.app.size.width
        left = self._fitted_to - sum(map(self._cells, always))
        for key in keys:
            if key not in always:
                left -= self._cells(key)
                if left < 2:
                    yield FooterLabel("…")
                    break
                yield key
        yield HorizontalGroup(*always, id="always")

    def _cells(self, key: FooterKey) -> int:
        """Returns the width of a key with its margin."""
        return len(key.key_display) + len(key.description) + (2 if self.compact else 3)

    def on_resize(self, event: events.Resize) -> None:
        if self._keys and event.size.width != self._fitted_to:
            self.refresh(recompose=True)

    def bindings_changed(self, screen: "Screen[object]") -> None:
        keys = [
            (one.binding.key, one.binding.description, one.enabled)
            for one in screen.active_bindings.values()
            if one.binding.show
        ]
        is_visible = self.is_attached and screen is self.screen
        if keys != self._keys or not is_visible:
            self._keys = keys if is_visible else []
            super().bindings_changed(screen)


class Panel(Vertical):
    """A titled frame around one widget. The title is on the border if several panels are visible.

    A panel that is never shown next to others has no frame, so that a change of focus restyles nothing in it.
    """

    def __init__(self, title: str, inner: Widget, *, id: str, offered: bool = True, framed: bool = True) -> None:
        super().__init__(inner, id=id, classes="-framed" if framed else "")
        self.title = title
        self.border_title = Content(title)
        self.inner = inner
        self.offered = offered


class PanelStrip(NameStrip, can_focus=False):
    """The tabs of a screen's panels. The chosen panel has the focus."""

    def __init__(self) -> None:
        super().__init__({}, "", id="panels")

    @property
    def panels(self) -> dict[str, Panel]:
        return {str(panel.id): panel for panel in self.screen.query(Panel)}

    @property
    def offered(self) -> list[str]:
        return [name for name, panel in self.panels.items() if panel.offered]

    def on_mount(self) -> None:
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        """Shows the names once the panels exist."""
        await self.set_names({name: panel.title for name, panel in self.panels.items()}, "")
        self._show_offered()
        self.choose(self.offered[0], focus=False)

    def offer(self, panel_id: str, offered: bool) -> None:
        """Shows or hides a panel's name."""
        self.panels[panel_id].offered = offered
        self._show_offered()
        if self.here and self.here not in self.offered:
            self.choose(self.offered[0])

    def _show_offered(self) -> None:
        offered = self.offered
        for one in self.query(Name):
            one.display = one.name in offered

    def rename(self, panel_id: str, title: str) -> None:
        panel = self.panels[panel_id]
        panel.title, panel.border_title = title, Content(title)
        for one in self.query(Name):
            if one.name == panel_id:
                one.update(Content(title))

    def choose_next(self) -> None:
        offered = self.offered
        self.choose(offered[(offered.index(self.here) + 1) % len(offered) if self.here in offered else 0])

    def choose(self, name: str, *, focus: bool = True) -> None:
        panels = self.panels
        chosen = panels[name]
        holders = {panel.parent for panel in panels.values() if isinstance(panel.parent, Widget)}
        marks: list[tuple[DOMNode, str, bool]] = [
            *((panel, "-chosen", panel is chosen) for panel in panels.values()),
            *((holder, "-holds-chosen", holder is chosen.parent) for holder in holders),
        ]
        changed = [node for node, mark, worn in marks if node.has_class(mark) != worn]
        for node, mark, worn in marks:
            node.set_class(worn, mark, update=False)
        # Only these nodes, because no style rule depends on them for their children, and restyling the children is too slow.
        self.app.stylesheet.update_nodes(changed)
        self.show(name)
        if focus:
            chosen.inner.focus()


class StarterCard(Static):
    """A card for an example study. A click does the same as its key."""

    def __init__(self, starter: Starter) -> None:
        super().__init__(
            Content.assemble(
                (f" {starter.key} ", "bold $text on $primary-muted"),
                (f"  {starter.title}", "bold"),
                (f"\n     {starter.text}", "$quiet"),
            )
        )
        self._action = f"screen.start('{starter.key}')"

    async def on_click(self) -> None:
        await self.run_action(self._action)


class Greeting(Vertical):
    """The start page of an empty file, with example studies that run offline."""

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble(("Tidepool", "bold $primary"), "  Experiments with language-model agents"))
        yield Static(Content("Nothing here yet. Try an example: no API key, no network, no cost."))
        for starter in STARTERS:
            yield StarterCard(starter)
        yield Static(
            Content.assemble(
                ("2", "bold $accent"),
                "  compose your own study     ",
                ("?", "bold $accent"),
                "  help     ",
                ("ctrl+p", "bold $accent"),
                "  all commands",
            )
        )
