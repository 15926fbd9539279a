"""Few colours with fixed meanings, in six dresses; and a glyph for each, so that NO_COLOR loses nothing."""

from dataclasses import dataclass

from textual.color import Color
from textual.theme import Theme

from tidepool.engine.results.blocks import INKS, ink_of, written


@dataclass(frozen=True, slots=True)
class State:
    """What a call, a unit or a batch can be."""

    name: str
    glyph: str
    meaning: str


STATES = {
    state.name: state
    for state in (
        State("waiting", "·", "waiting"),
        State("running", "▸", "in flight"),
        State("done", "■", "done"),
        State("cached", "□", "from the cache"),
        State("retried", "◆", "done after a retry"),
        State("failed", "×", "failed"),
    )
}

BATCH_STATES = {
    "pending": "waiting",
    "in_progress": "running",
    "paused": "retried",
    "completed": "done",
    "partial": "failed",
    "failed": "failed",
    "interrupted": "retried",
}
"""which colour a batch's status wears"""

BATCH_GLYPHS = {
    "pending": "·",
    "in_progress": "▸",
    "paused": "‖",
    "completed": "■",
    "partial": "◪",
    "failed": "×",
    "interrupted": "◇",
}


def _theme(
    name: str,
    *,
    dark: bool,
    ground: str,
    ink: str,
    primary: str,
    secondary: str,
    accent: str,
    error: str,
    success: str,
    **means: str,
) -> Theme:
    """`ground`: background, surface and panel; `means`: what a colour stands for. Every ink is readable on every ground, which
    a test works out."""
    background, surface, panel = ground.split()
    states = {f"state-{word}": means.pop(word) for word in STATES}
    return Theme(
        name=f"tidepool-{name}",
        dark=dark,
        primary=primary,
        secondary=secondary,
        accent=accent,
        warning=accent,
        error=error,
        success=success,
        foreground=ink,
        background=background,
        surface=surface,
        panel=panel,
        variables={
            **means,
            **states,
            "footer-key-foreground": accent,
            "input-selection-background": f"{primary} {35 if dark else 25}%",
        },
    )


DARK = _theme(
    "dark",
    dark=True,
    ground="#0c1517 #111d20 #182a2e",
    ink="#d6e2e0",
    primary="#4fb3a9",
    secondary="#2f6f73",
    accent="#e9b44c",
    error="#ed847d",
    success="#58b98b",
    quiet="#98adaf",
    cursor="#1b3c40",
    scroll="#2a4449",
    reveal="#7a3129",
    hit="#6b5420",
    waiting="#91a6a9",
    running="#e9b44c",
    done="#4fb38f",
    cached="#6ea5db",
    retried="#ba93d9",
    failed="#ef8277",
    border="#2f6f73",
)

LIGHT = _theme(
    "light",
    dark=False,
    ground="#f3f6f4 #fbfcfb #e2ebe8",
    ink="#1c2b2d",
    primary="#0f6e68",
    secondary="#5b8f8b",
    accent="#a04909",
    error="#b3261e",
    success="#1a7149",
    quiet="#516467",
    cursor="#cfe6e1",
    scroll="#b7cdc8",
    reveal="#f6c9c2",
    hit="#f5dfae",
    waiting="#556666",
    running="#a04909",
    done="#107052",
    cached="#2563a8",
    retried="#7e4bb0",
    failed="#b3261e",
    border="#69928d",
)

DEEP = _theme(
    "deep",
    dark=True,
    ground="#11131f #171a29 #20253a",
    ink="#d5daf0",
    primary="#7aa2f7",
    secondary="#3d59a1",
    accent="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    quiet="#a3a3c6",
    cursor="#273257",
    scroll="#343b58",
    reveal="#6d2f45",
    hit="#5e4a1f",
    waiting="#979bbe",
    running="#e0af68",
    done="#73c991",
    cached="#7dcfff",
    retried="#bb9af7",
    failed="#f7768e",
    border="#4161ad",
)

SAND = _theme(
    "sand",
    dark=False,
    ground="#fbf6ea #fffdf6 #efe5cf",
    ink="#33291d",
    primary="#8a4b14",
    secondary="#b08d57",
    accent="#a2341c",
    error="#a61b29",
    success="#4a681e",
    quiet="#6a5c45",
    cursor="#ecdcb6",
    scroll="#d8c6a0",
    reveal="#f3c6b6",
    hit="#f2dd9a",
    waiting="#6c5e44",
    running="#8a5300",
    done="#4a681e",
    cached="#1f5f8b",
    retried="#7a3f8f",
    failed="#a61b29",
    border="#ac8645",
)

CONTRAST = _theme(
    "contrast",
    dark=True,
    ground="#000000 #0a0a0a #1c1c1c",
    ink="#ffffff",
    primary="#00e5d0",
    secondary="#9ad7d0",
    accent="#ffd23f",
    error="#ff9d8d",
    success="#5ef2a5",
    quiet="#c3cccc",
    cursor="#00504a",
    scroll="#6b7878",
    reveal="#7a1d10",
    hit="#5c4a00",
    waiting="#aeb9b9",
    running="#ffd23f",
    done="#5ef2a5",
    cached="#7cc4ff",
    retried="#dcb2ff",
    failed="#ff9d8d",
    border="#9ad7d0",
)

# Okabe and Ito's colours: blue for done and orange for failed, which all kinds of eyes tell apart.
COLOUR_BLIND = _theme(
    "colour-blind",
    dark=True,
    ground="#10141a #151b23 #1e2732",
    ink="#e3e8ee",
    primary="#56b4e9",
    secondary="#2f6f96",
    accent="#f0e442",
    error="#e69f00",
    success="#56b4e9",
    quiet="#a1afbe",
    cursor="#1e3c58",
    scroll="#33465a",
    reveal="#6b4500",
    hit="#4f4a10",
    waiting="#98a6b4",
    running="#f0e442",
    done="#56b4e9",
    cached="#d9a0c4",
    retried="#e3e8ee",
    failed="#e69f00",
    border="#2f6f96",
)

THEMES = (DARK, LIGHT, DEEP, SAND, CONTRAST, COLOUR_BLIND)
DEFAULTS = DARK.variables
"""for the themes that come with Textual"""


def mark_variables(theme: Theme) -> dict[str, str]:
    """The colours of those who take part: they stand out under the cursor, and so on the paler ground around it."""
    ground = Color.parse(theme.variables.get("cursor") or theme.to_color_system().generate()["background"]).rgb
    return {f"mark-{place}": written(ink_of(place, ground)) for place in range(len(INKS))}
