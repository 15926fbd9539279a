"""Foreign text of a width: whatever is fitted into a cell has been made plain, and is cut before it is measured."""

from rich.cells import cell_len, set_cell_size

from tidepool.storage.text import Plain
from tidepool.storage.text import one_line as one_line
from tidepool.storage.text import plain as plain
from tidepool.storage.text import shortened as shortened


def fitted(text: str, width: int, *, right: bool = False) -> Plain:
    """Exactly `width` cells: cut with an ellipsis, or padded."""
    if width <= 0:
        return Plain()
    text = plain(text[: 8 * width + 64])
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        return Plain(set_cell_size(text, width - 1) + "…")
    padding = " " * (width - length)
    return Plain(padding + text if right else text + padding)
