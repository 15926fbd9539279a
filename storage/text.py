"""Text that the file can hold and give back unchanged: what a model says may be anything."""


def storable(text: str) -> str:
    """Without NUL, at which SQLite's functions stop, and without lone halves of characters, which are no UTF-8."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
