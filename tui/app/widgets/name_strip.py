"""A line of names of which one is chosen: by the arrow keys, or by a click."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static


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
        self._wanted: str | None = None
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
        self.answered(here)
        for one in self.query(Name):
            one.set_class(one.name == here, "-here")

    def mark(self, words: Mapping[str, Content]) -> None:
        """What is to be said behind each of these names."""
        for one in self.query(Name):
            one.mark(words.get(one.name or "", Content("")))

    def choose(self, name: str) -> None:
        if name != (self._wanted or self.here):
            self._wanted = name
            self.post_message(self.Chosen(self, name))

    def answered(self, name: str) -> None:
        """Whoever was told of a choice has done what there was to do, or refused."""
        if name == self._wanted:
            self._wanted = None

    def action_step(self, by: int) -> None:
        names = list(self._names)
        here = self._wanted or self.here
        place = names.index(here) if here in names else 0
        self.choose(names[(place + by) % len(names)])
