"""Few colours with fixed meanings, in a dark and a light dress; and a glyph for each, so that NO_COLOR loses nothing."""

from dataclasses import dataclass

from textual.theme import Theme


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
    name="tidepool-dark",
    dark=True,
    primary="#4fb3a9",
    secondary="#2f6f73",
    accent="#e9b44c",
    warning="#e9b44c",
    error="#e5604d",
    success="#58b98b",
    foreground="#d6e2e0",
    background="#0c1517",
    surface="#111d20",
    panel="#182a2e",
    variables={
        "quiet": "#84999b",
        "cursor": "#1d4246",
        "scroll": "#2a4449",
        "reveal": "#7a3129",
        "hit": "#6b5420",
        "state-waiting": "#4d6265",
        "state-running": "#e9b44c",
        "state-done": "#4fb38f",
        "state-cached": "#5f9bd6",
        "state-retried": "#b48ad6",
        "state-failed": "#ef6a57",
        "border": "#2f6f73",
        "footer-key-foreground": "#e9b44c",
        "input-selection-background": "#4fb3a9 35%",
    },
)

LIGHT = Theme(
    name="tidepool-light",
    dark=False,
    primary="#0f766e",
    secondary="#5b8f8b",
    accent="#b45309",
    warning="#b45309",
    error="#b3261e",
    success="#1d7a4f",
    foreground="#1c2b2d",
    background="#f3f6f4",
    surface="#fbfcfb",
    panel="#e2ebe8",
    variables={
        "quiet": "#5d7073",
        "cursor": "#c9e3de",
        "scroll": "#b7cdc8",
        "reveal": "#f6c9c2",
        "hit": "#f5dfae",
        "state-waiting": "#9fb0b0",
        "state-running": "#b45309",
        "state-done": "#14805e",
        "state-cached": "#2563a8",
        "state-retried": "#7e4bb0",
        "state-failed": "#b3261e",
        "border": "#7fa8a3",
        "footer-key-foreground": "#b45309",
        "input-selection-background": "#0f766e 25%",
    },
)

DEFAULTS = DARK.variables
"""for the themes that come with Textual"""
