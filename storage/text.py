"""Text on its way into the file: what a model, a scorer or a server says may be anything."""

from tidepool.storage.key_mask import mask


def storable(text: str) -> str:
    """Without API keys, without NUL, at which SQLite's functions stop, and without lone surrogates, which are not UTF-8."""
    text = mask(text)
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
