"""The line below: what can be done here, by its keys."""

from textual.screen import Screen
from textual.widgets import Footer


class KeyLine(Footer):
    """Made anew only where other keys are to be shown: every move of the focus asks for it."""

    def __init__(self, *, compact: bool) -> None:
        super().__init__(show_command_palette=False, compact=compact)
        self._keys: list[tuple[str, str, bool]] = []

    def bindings_changed(self, screen: "Screen[object]") -> None:
        shown = [entry for entry in screen.active_bindings.values() if entry.binding.show]
        keys = [(entry.binding.key, entry.binding.description, entry.enabled) for entry in shown]
        seen = screen.app.app_focus and self.is_attached and screen is self.screen
        if keys != self._keys or not seen:
            super().bindings_changed(screen)
            self._keys = keys if seen else []
