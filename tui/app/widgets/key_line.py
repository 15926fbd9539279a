"""The line below: what can be done here, by its keys."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey, FooterLabel

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
        room = self._fitted_to - sum(map(self._cells, always))
        taken = 0
        for place, key in enumerate(here):
            taken += self._cells(key)
            if taken > room - 2 * (place < len(here) - 1):
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
        shown: dict[str, Binding] = {}
        keys: list[tuple[str, str, bool]] = []
        for _node, binding, enabled, _tooltip in screen.active_bindings.values():
            if binding.show and shown.setdefault(binding.action, binding) is binding:
                keys.append((self.app.get_key_display(binding), binding.description, enabled))
        seen = self.is_attached and screen is self.screen
        if keys != self._keys or not seen:
            super().bindings_changed(screen)
            self._keys = keys if seen else []
            return
        for key in self.query(FooterKey):  # in a field "?" is a letter: a click on the same words is another key there
            if key.action in shown:
                key.key = shown[key.action].key
