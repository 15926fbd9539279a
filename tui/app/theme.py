"""A few colours with fixed meanings, derived from any Textual theme. Each has a glyph, so that NO_COLOR loses no information."""

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
    "cached": ("□", "from cache"),
    "retried": ("◆", "done after a retry"),
    "failed": ("×", "failed"),
}
"""states of a call, a unit or a batch, with glyph and meaning"""

BATCH_STATES = {
    "pending": ("·", "waiting"),
    "in_progress": ("▸", "running"),
    "paused": ("‖", "retried"),
    "completed": ("■", "done"),
    "partial": ("◪", "failed"),
    "failed": ("×", "failed"),
    "interrupted": ("◇", "retried"),
}
"""status of a batch → its glyph and the state whose colour it has"""


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
# Okabe and Ito's colours: blue for done and orange for failed, which colour-blind people can distinguish.
COLOUR_BLIND = replace(
    DARK, name="tidepool-colour-blind", primary="#56b4e9", success="#56b4e9", error="#e69f00", accent="#f0e442"
)
LIGHT_NAME = "textual-light"


def theme_colours(theme: Theme) -> dict[str, str]:
    """Returns the colours that the app adds to a theme. Every text colour is readable on every background, which a test checks."""
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
    """Returns the settings file, next to the user's endpoints. It may not exist."""
    return config_folder() / "app.toml"


def read_theme(path: Path) -> str:
    """Returns the chosen theme; empty if none was chosen or the file cannot be read."""
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8")).get("theme", ""))
    except (OSError, ValueError):
        return ""


def keep_theme(path: Path, name: str) -> None:
    """Writes the theme to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'theme = "{name}"\n', encoding="utf-8")
