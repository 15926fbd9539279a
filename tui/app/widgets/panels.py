"""Panels side by side where there is room, one at a time behind a line of names where there is not."""

from dataclasses import dataclass

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static


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
        self.post_message(PanelStrip.Asked(self.panel))


class PanelStrip(Horizontal):
    """The names of the screen's panels, to click on; the chosen one has the focus."""

    @dataclass
    class Asked(Message):
        panel: Panel

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Panel] = []
        """all there are, once they are there"""

    @property
    def _all(self) -> list[Panel]:
        return self._found or list(self.screen.query(Panel))

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
            self._choose(self._panels[0])

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
        self._found = self._all
        await self.mount_all(PanelName(panel) for panel in self._found)
        for name in self.query(PanelName):
            name.display = name.panel.offered
        self._choose(self._panels[0], focus=False)

    def choose(self, panel_id: str, *, focus: bool = True) -> None:
        self._choose(next(panel for panel in self._panels if panel.id == panel_id), focus=focus)

    def choose_next(self) -> None:
        panels = self._panels
        here = next((i for i, panel in enumerate(panels) if panel.has_class("-chosen")), 0)
        self._choose(panels[(here + 1) % len(panels)])

    def on_panel_strip_asked(self, event: Asked) -> None:
        self._choose(event.panel)

    def _choose(self, chosen: Panel, *, focus: bool = True) -> None:
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
