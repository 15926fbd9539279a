"""Few colours with fixed meanings, derived from any of Textual's themes; and a glyph for each, so that NO_COLOR loses nothing."""

import tomllib
from dataclasses import replace
from pathlib import Path

from textual.color import Color
from textual.theme import Theme

from tidepool.engine.reports.blocks import INKS, as_hex, ink_of, luminance, readable
from tidepool.storage.file import config_folder

STATES = {
    "waiting": ("·", "waiting"),
    "running": ("▸", "in flight"),
    "done": ("■", "done"),
    "cached": ("□", "from the cache"),
    "retried": ("◆", "done after a retry"),
    "failed": ("×", "failed"),
}
"""what a call, a unit or a batch can be: its glyph and what it means"""

BATCH_STATES = {
    "pending": ("·", "waiting"),
    "in_progress": ("▸", "running"),
    "paused": ("‖", "retried"),
    "completed": ("■", "done"),
    "partial": ("◪", "failed"),
    "failed": ("×", "failed"),
    "interrupted": ("◇", "retried"),
}
"""a batch's status: its glyph, and the state whose colour it wears"""


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
    colours = theme.to_color_system().generate()
    base = {name: Color.parse(colours[name]) for name in ("background", "surface", "panel", "foreground", "primary")}
    cursor = base["background"].blend(base["primary"], 0.22)
    grounds = [base["background"], base["surface"], base["panel"], cursor]
    hardest = (max if theme.dark else min)((ground.rgb for ground in grounds), key=luminance)
    quiet = base["foreground"].blend(base["background"], 0.3).hex6
    inks = {name: colours[name] for name in ("foreground", "primary", "accent", "warning", "error", "success")} | {
        "quiet": quiet,
        "footer-key-foreground": colours["accent"],
        "state-waiting": quiet,
        "state-running": colours["warning"],
        "state-done": colours["success"],
        "state-cached": "#6ea5db",
        "state-retried": "#ba93d9",
        "state-failed": colours["error"],
    }
    return {
        **{name: as_hex(readable(Color.parse(ink).rgb, hardest)) for name, ink in inks.items()},
        **{f"mark-{place}": as_hex(ink_of(place, hardest)) for place in range(len(INKS))},
        "cursor": cursor.hex6,
        "scroll": base["panel"].blend(base["foreground"], 0.15).hex6,
        "reveal": base["background"].blend(Color.parse(colours["error"]), 0.28).hex6,
        "hit": base["background"].blend(Color.parse(colours["warning"]), 0.25).hex6,
    }


def settings_file() -> Path:
    """Beside the user's own endpoints; it need not exist."""
    return config_folder() / "app.toml"


def read_theme(path: Path) -> str:
    """The chosen theme; nothing where none was chosen, or the file cannot be read."""
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8")).get("theme", ""))
    except (OSError, ValueError):
        return ""


def keep_theme(path: Path, name: str) -> None:
    """Writes the theme into the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'theme = "{name}"\n', encoding="utf-8")
