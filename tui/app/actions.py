"""What can be done on a screen, for its help and the command palette: its own actions first, then those of the app.

Keys that only move the cursor or the focus belong to the widgets themselves; the help names them at its end, and the
palette leaves them out.
"""

from dataclasses import dataclass

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

MOVING = {"app.focus_next", "app.focus_previous", "screen.copy_text", "command_palette", "help_quit"}


@dataclass(frozen=True, slots=True)
class Offer:
    binding: Binding
    node: DOMNode
    moves: bool

    @property
    def words(self) -> str:
        return self.binding.description


def offers(screen: Screen[object]) -> list[Offer]:
    """Each action once, in the order in which a person looks for them."""
    found: dict[str, Offer] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and active.enabled and binding.description not in found:
            moves = binding.action in MOVING or not (isinstance(active.node, App | Screen) or binding.id)
            found[binding.description] = Offer(binding, active.node, moves)
    return sorted(found.values(), key=lambda offer: (offer.moves, isinstance(offer.node, App)))
