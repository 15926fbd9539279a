"""The parts around a screen's content: navigation, footer, panels, lines of names, cards, one-line fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, HorizontalGroup, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.events import Resize
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Input, Static
from textual.widgets._footer import FooterKey, FooterLabel

from tidepool.tui.app.kind_screens import STARTERS, Starter
from tidepool.tui.drawing.text import one_line


class TextLine(Input):
    def on_click(self, event: events.Click) -> None:
        """Two clicks take hold of all that is in it: what is typed then stands in its place."""
        if event.chain == 2:
            self.select_all()

    def on_paste(self, event: events.Paste) -> None:
        """Joins the lines of a paste: Textual inserts the first one only."""
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


class ModeTab(Static):
    """One of the places, to click on."""

    def __init__(self, mode: str, here: bool) -> None:
        key, title = PLACES[mode]
        text = Content.assemble(key, " ", (title, "bold" if here else ""))
        super().__init__(text, classes="-here" if here else None)
        self.mode = mode

    async def on_click(self) -> None:
        await self.run_action(f"app.go('{self.mode}')")


class Navigation(Horizontal):
    def __init__(self, here: str) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        for mode in PLACES:
            yield ModeTab(mode, mode == self._here)
        path = getattr(self.app, "path", None)
        yield Static(Content(one_line(path.name) if path else ""), id="file-name")


ALWAYS = ("help", "command_palette", "quit")
"""actions that stand at the right end at any width: they lead to all others"""


class KeyLine(Footer):
    """Made anew only where other keys are to be shown: every move of the focus asks for it. Keys that do not fit are left
    out whole, from the last."""

    def __init__(self, *, compact: bool) -> None:
        super().__init__(show_command_palette=False, compact=compact)
        self._keys: list[tuple[str, str, bool]] = []
        """what is shown"""
        self._fitted_to = 0

    def compose(self) -> ComposeResult:
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        for key in keys:  # from the first, for else each is styled three times
            key.set_reactive(FooterKey.compact, self.compact)
            key.set_class(self.compact, "-compact", update=False)
        always = sorted((key for key in keys if key.action in ALWAYS), key=lambda key: ALWAYS.index(key.action))
        here = [key for key in keys if key not in always]
        self._fitted_to = self.app.size.width
        available = self._fitted_to - sum(map(self._cells, always))
        used = 0
        for place, key in enumerate(here):
            used += self._cells(key)
            if used > available - 2 * (place < len(here) - 1):
                yield FooterLabel("…")
                break
            yield key
        yield HorizontalGroup(*always, id="always")

    def _cells(self, key: FooterKey) -> int:
        """What a key takes, with the room around it."""
        return len(key.key_display) + len(key.description) + (2 if self.compact else 3)

    def on_resize(self, event: Resize) -> None:
        if self._keys and event.size.width != self._fitted_to:
            self.refresh(recompose=True)

    def bindings_changed(self, screen: "Screen[object]") -> None:
        bindings: dict[str, Binding] = {}
        keys: list[tuple[str, str, bool]] = []
        for _node, binding, enabled, _tooltip in screen.active_bindings.values():
            if binding.show and bindings.setdefault(binding.action, binding) is binding:
                keys.append((self.app.get_key_display(binding), binding.description, enabled))
        is_visible = self.is_attached and screen is self.screen
        if keys != self._keys or not is_visible:
            super().bindings_changed(screen)
            self._keys = keys if is_visible else []
            return
        for key in self.query(FooterKey):  # in a field "?" is a letter: a click on the same words is another key there
            if key.action in bindings:
                key.key = bindings[key.action].key


class Panel(Vertical):
    """A titled frame around one widget; it wears its name on the border where several are in view. One that is never in view
    beside others has no frame, and nothing in it need be styled anew when the focus comes or goes."""

    def __init__(self, title: str, inner: Widget, *, id: str, offered: bool = True, framed: bool = True) -> None:
        super().__init__(inner, id=id, classes="-framed" if framed else "")
        self.title = title
        self.border_title = Content(title)
        self.inner = inner
        self.offered = offered


class PanelName(Static):
    def __init__(self, panel: Panel) -> None:
        super().__init__(Content(panel.title))
        self.panel = panel

    def on_click(self) -> None:
        if isinstance(self.parent, PanelStrip):
            self.parent.choose_panel(self.panel)


class PanelStrip(Horizontal):
    """The names of the screen's panels, to click on; the chosen one has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._panel_cache: list[Panel] = []
        """all there are, once they are there"""

    @property
    def _all(self) -> list[Panel]:
        return self._panel_cache or list(self.screen.query(Panel))

    @property
    def _panels(self) -> list[Panel]:
        return [panel for panel in self._all if panel.offered]

    def offer(self, panel_id: str, offered: bool) -> None:
        """A panel that has nothing to show is not named."""
        for panel in self._all:
            if panel.id == panel_id:
                panel.offered = offered
        for name in self.query(PanelName):
            name.display = name.panel.offered
        if any(panel.has_class("-chosen") and not panel.offered for panel in self._all):
            self.choose_panel(self._panels[0])

    def rename(self, panel_id: str, title: str) -> None:
        for panel in self._all:
            if panel.id == panel_id:
                panel.title, panel.border_title = title, Content(title)
        for name in self.query(PanelName):
            name.update(Content(name.panel.title))

    def on_mount(self) -> None:
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        """The names, once the panels are there."""
        self._panel_cache = self._all
        await self.mount_all(PanelName(panel) for panel in self._panel_cache)
        for name in self.query(PanelName):
            name.display = name.panel.offered
        self.choose_panel(self._panels[0], focus=False)

    def choose(self, panel_id: str, *, focus: bool = True) -> None:
        self.choose_panel(next(panel for panel in self._panels if panel.id == panel_id), focus=focus)

    def choose_next(self) -> None:
        panels = self._panels
        here = next((i for i, panel in enumerate(panels) if panel.has_class("-chosen")), 0)
        self.choose_panel(panels[(here + 1) % len(panels)])

    def choose_panel(self, chosen: Panel, *, focus: bool = True) -> None:
        holders = {panel.parent for panel in self._all if isinstance(panel.parent, Widget)}
        marks: list[tuple[DOMNode, str, bool]] = [
            *((panel, "-chosen", panel is chosen) for panel in self._all),
            *((holder, "-holds-chosen", holder is chosen.parent) for holder in holders),
            *((name, "-here", name.panel is chosen) for name in self.query(PanelName)),
        ]
        changed = [node for node, name, worn in marks if node.has_class(name) != worn]
        for node, name, worn in marks:
            node.set_class(worn, name, update=False)
        # only these: no rule looks through them at what they hold, and styling all of that anew takes longer than a key may
        self.app.stylesheet.update_nodes(changed)
        if focus:
            chosen.inner.focus()


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
        self._pending_name: str | None = None
        """chosen, and not shown yet: keys that come meanwhile go on from there"""

    def compose(self) -> Sequence[Static]:
        first = [Static(Content(self._title), classes="strip-title")] if self._title else []
        return [*first, *(Name(name, title) for name, title in self._names.items())]

    def on_mount(self) -> None:
        self.show(self.here)

    async def set_names(self, names: Mapping[str, str], here: str) -> None:
        """Other names, where they differ."""
        if list(names.items()) != list(self._names.items()):
            self._names = dict(names)
            await self.query(Name).remove()
            await self.mount_all(Name(name, title) for name, title in names.items())
        self.show(here)

    def show(self, here: str) -> None:
        """Marks a name as chosen, and tells nobody."""
        self.here = here
        self.clear_pending(here)
        for one in self.query(Name):
            one.set_class(one.name == here, "-here")

    def mark(self, words: Mapping[str, Content]) -> None:
        """What is to be said behind each of these names."""
        for one in self.query(Name):
            one.mark(words.get(one.name or "", Content("")))

    def choose(self, name: str) -> None:
        if name != (self._pending_name or self.here):
            self._pending_name = name
            self.post_message(self.Chosen(self, name))

    def clear_pending(self, name: str) -> None:
        """Whoever was told of a choice has done what there was to do, or refused."""
        if name == self._pending_name:
            self._pending_name = None

    def action_step(self, by: int) -> None:
        names = list(self._names)
        here = self._pending_name or self.here
        place = names.index(here) if here in names else 0
        self.choose(names[(place + by) % len(names)])


class StarterCard(Static):
    """Something to try: a click does what its key does."""

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
    """An empty file greets with things to try, each one key away, offline."""

    def compose(self) -> ComposeResult:
        yield Static(
            Content.assemble(("Tidepool", "bold $primary"), "  many small talks with language models, in one file")
        )
        yield Static(Content("Nothing here yet. Try one of these: no key, no network, no cost."))
        for starter in STARTERS:
            yield StarterCard(starter)
        yield Static(
            Content.assemble(
                ("2", "bold $accent"),
                "  compose your own     ",
                ("?", "bold $accent"),
                "  help     ",
                ("ctrl+p", "bold $accent"),
                "  every command",
            )
        )
