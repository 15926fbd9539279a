"""Text that can be edited on a terminal whatever is in it: control and direction characters become marks, and back."""

_HIDDEN = (
    {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)}
    | {127: "\u2421"}
    | {code: chr(0xE000 + code) for code in range(0x80, 0xA0)}
    | {code: chr(0xE000 + code - 0x2000) for code in (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))}
)
_BACK = {ord(mark): chr(code) for code, mark in _HIDDEN.items()}


def visible(text: str) -> str:
    return text.translate(_HIDDEN)


def restored(text: str) -> str:
    return text.translate(_BACK)
