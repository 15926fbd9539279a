"""Few colours with fixed meanings, derived from any of Textual's themes; and a glyph for each, so that NO_COLOR loses nothing."""

from dataclasses import dataclass, replace

from textual.color import Color
from textual.theme import Theme

from tidepool.engine.results.blocks import INKS, ink_of, luminance, readable, written


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


DARK = Theme(
    name="tidepool",
    primary="#4fb3a9",
    secondary="#2f6f73",
    accent="#e9b44c",
    warning="#e9b44c",
    error="#ed847d",
    success="#58b98b",
    foreground="#d6e2e0",
    background="#0c1517",
    surface="#111d20",
    panel="#182a2e",
    variables={"border": "#2f6f73"},
)
# Okabe and Ito's colours: blue for done and orange for failed, which all kinds of eyes tell apart.
COLOUR_BLIND = replace(
    DARK, name="tidepool-colour-blind", primary="#56b4e9", success="#56b4e9", error="#e69f00", accent="#f0e442"
)
LIGHT_NAME = "textual-light"


def theme_colours(theme: Theme) -> dict[str, str]:
    """What the app needs beyond a theme's own colours; every ink is readable on every ground, which a test works out."""
    named = theme.to_color_system().generate()
    base = {name: Color.parse(named[name]) for name in ("background", "surface", "panel", "foreground", "primary")}
    cursor = base["background"].blend(base["primary"], 0.22)
    grounds = [base["background"], base["surface"], base["panel"], cursor]
    hardest = (max if theme.dark else min)((ground.rgb for ground in grounds), key=luminance)
    quiet = base["foreground"].blend(base["background"], 0.3).hex6
    inks = {name: named[name] for name in ("foreground", "primary", "accent", "warning", "error", "success")} | {
        "quiet": quiet,
        "footer-key-foreground": named["accent"],
        "state-waiting": quiet,
        "state-running": named["warning"],
        "state-done": named["success"],
        "state-cached": "#6ea5db",
        "state-retried": "#ba93d9",
        "state-failed": named["error"],
    }
    return {
        **{name: written(readable(Color.parse(ink).rgb, hardest)) for name, ink in inks.items()},
        **{f"mark-{place}": written(ink_of(place, hardest)) for place in range(len(INKS))},
        "cursor": cursor.hex6,
        "scroll": base["panel"].blend(base["foreground"], 0.15).hex6,
        "reveal": base["background"].blend(Color.parse(named["error"]), 0.28).hex6,
        "hit": base["background"].blend(Color.parse(named["warning"]), 0.25).hex6,
    }
