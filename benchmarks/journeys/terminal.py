"""A real terminal: tmux, in a server of its own. The mouse writes what a terminal's mouse does, SGR reports."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.journeys.stage import Cell, Lost, Missing, Stage

NAMES = {
    "enter": "Enter", "tab": "Tab", "shift+tab": "BTab", "escape": "Escape", "space": "Space", "backspace": "BSpace",
    "up": "Up", "down": "Down", "left": "Left", "right": "Right", "home": "Home", "end": "End",
    "pageup": "PPage", "pagedown": "NPage",
}  # fmt: skip


def tmux_name(key: str) -> str:
    if key in NAMES:
        return NAMES[key]
    if key.startswith("ctrl+"):
        return f"C-{key.removeprefix('ctrl+')}"
    return key.upper() if key[0] == "f" and key[1:].isdigit() else key


class TerminalStage(Stage):
    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        if shutil.which("tmux") is None:
            raise Missing("tmux is not installed")
        self.size = size
        self._socket = folder / "tmux"
        outside = {name: value for name, value in environment.items() if name != "TMUX"}
        settings = folder / "tmux.conf"
        settings.write_text('set -g status off\nset -g default-terminal "tmux-256color"\n', encoding="utf-8")
        columns, lines = map(str, size)
        where = ["new-session", "-d", "-x", columns, "-y", lines, "-c", str(folder)]
        self._tmux("-f", str(settings), *where, *command, environment={**outside, "COLORTERM": "truecolor"})

    def _tmux(self, *words: str, environment: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env={**(environment or os.environ), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        )
        return done.stdout

    def screen(self) -> list[str]:
        return self._tmux("capture-pane", "-p").split("\n")[: self.size[1]]

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", tmux_name(key))

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def mouse(self, cell: Cell, clicks: int = 1) -> None:
        place = f"{cell.column + 1};{cell.line + 1}"
        self._tmux("send-keys", "-l", f"\x1b[<35;{place}M")  # it moves there
        for _ in range(clicks):
            self._tmux("send-keys", "-l", f"\x1b[<0;{place}M\x1b[<0;{place}m")

    def wheel(self, cell: Cell, notches: int) -> None:
        button = 65 if notches > 0 else 64
        self._tmux("send-keys", "-l", f"\x1b[<{button};{cell.column + 1};{cell.line + 1}M" * abs(notches))

    def look_closely(self) -> None:
        if "\x1b[38;2;" not in self._tmux("capture-pane", "-e", "-p"):
            raise Lost("The terminal shows no colours.")

    def ended(self) -> bool:
        return not self._tmux("list-sessions")

    def close(self) -> None:
        self._tmux("kill-server")
