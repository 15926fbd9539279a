"""A colour and a glyph for each of those who take part in a study, by their place among them: the same in tables, plots and
transcripts, on a terminal, in the app and on a page.

The colours are Okabe and Ito's, which people who confuse red and green tell apart; seven colours and ten glyphs make seventy marks.
"""

from collections.abc import Iterable

Colour = tuple[int, int, int]

INKS: tuple[Colour, ...] = (
    (0, 114, 178),  # blue
    (230, 159, 0),  # orange
    (0, 158, 115),  # green
    (204, 121, 167),  # purple
    (213, 94, 0),  # vermilion
    (86, 180, 233),  # sky
    (150, 130, 40),  # olive, in the place of yellow, which a white page swallows
)
GLYPHS = "●■▲◆▼○□△◇▽"
CONTRAST = 4.5
"""of text on its ground, as WCAG asks for"""


def places_of(names: Iterable[str]) -> dict[str, int]:
    """By name, as statistics have them: who is best, or speaks first, changes nothing."""
    return {name: place for place, name in enumerate(sorted(set(names)))}


def glyph_of(place: int) -> str:
    return GLYPHS[place % len(GLYPHS)]


def ink_of(place: int, ground: Colour) -> Colour:
    return readable(INKS[place % len(INKS)], ground)


def readable(ink: Colour, ground: Colour, contrast: float = CONTRAST) -> Colour:
    """The ink itself where it stands out from its ground, else as much lighter or darker as it needs."""
    target = 255 if luminance(ground) < 0.18 else 0
    for part in range(21):
        mixed = _mixed(ink, target, part / 20)
        if contrast_of(mixed, ground) >= contrast:
            return mixed
    return _mixed(ink, target, 1.0)


def _mixed(ink: Colour, target: int, share: float) -> Colour:
    red, green, blue = (round(part + (target - part) * share) for part in ink)
    return red, green, blue


def contrast_of(one: Colour, other: Colour) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: Colour) -> float:
    red, green, blue = (
        (c / 12.92) if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def written(colour: Colour) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
