"""The app where people use it: in a real terminal, and in a real browser."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.journeys.journey import HERE, Journey, go
from benchmarks.journeys.stage import Missing
from tests.tui.studies import game, played_now
from tests.tui.test_web import browsing, process  # noqa: F401
from tidepool.tui.app import launching

pytestmark = pytest.mark.slow

WAIT_SECONDS = 40.0
DOWN, LEFT, END = "\x1b[B", "\x1b[D", "\x1b[F"


def until(look: Callable[[], str], words: str) -> str:
    """Waits for words on a screen."""
    deadline = time.monotonic() + WAIT_SECONDS
    while words not in (shown := look()):
        assert time.monotonic() < deadline, f"{words!r} never came; the screen shows:\n{shown}"
        time.sleep(0.05)
    return shown


class Tmux:
    """A terminal of 120 × 36 in a tmux server of its own."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "tmux"

    def __call__(self, *words: str, **more: object) -> str:
        done = subprocess.run(["tmux", "-S", str(self._socket), *words], capture_output=True, text=True, **more)  # type: ignore[call-overload]
        return str(done.stdout)

    def start(self, command: list[str], environment: dict[str, str]) -> None:
        self("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "36", *command, env=environment)

    def screen(self) -> str:
        return self("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self("send-keys", *keys)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    terminal = Tmux(tmp_path)
    yield terminal
    terminal("kill-server")


def test_in_a_small_real_terminal_keys_alone_go_from_an_empty_file_to_an_export() -> None:
    """One of the journeys that `make pythons` makes with every kind, by keys and by the mouse, here and in a browser."""
    try:
        go(Journey("secret_game", "terminal", "keys"), HERE)
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_app_that_is_told_to_end_leaves_the_terminal_and_the_file_as_they_were(
    tmux: Tmux, path: Path, number: signal.Signals
) -> None:
    played_now(path, game(name="A game in tmux", talks=2))
    line = f"{shlex.join(launching.command(path))}; echo left with $?; sleep 60"
    tmux.start(["sh", "-c", line], {**os.environ, **launching.environment(), "LANG": "C.UTF-8"})
    until(tmux.screen, "A game in tmux")
    shell = tmux("display", "-p", "#{pane_pid}").strip()
    (app,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    os.kill(int(app), number)
    assert "A game in tmux" not in until(tmux.screen, f"left with {128 + number}"), "the screen from before is back"
    assert not path.with_name("study.db-wal").exists(), "one plain file is left"


def test_fg_brings_back_the_whole_screen_of_a_suspended_app(tmux: Tmux, tmp_path: Path) -> None:
    tmux.start(["sh", "-i"], {**os.environ, **launching.environment(), "LANG": "C.UTF-8", "PS1": "sh> ", "ENV": ""})
    tmux.press(shlex.join(launching.command(tmp_path / "study.db")), "Enter")
    until(tmux.screen, "Nothing here yet")
    before = until(tmux.screen, "Quit")
    for _ in range(2):
        tmux.press("C-z")
        until(tmux.screen, "Stopped")
        tmux.press("fg", "Enter")
        assert until(tmux.screen, "Quit") == before


def _browser() -> str:
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), "")


async def test_in_a_real_browser_the_app_is_drawn_and_takes_keys(
    process: "subprocess.Popen[str]",  # noqa: F811
) -> None:
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    if not _browser():
        pytest.skip("chromium is not installed")
    async with browsing(process) as (_, _, link), playwright.async_playwright() as stage:
        browser = await stage.chromium.launch(executable_path=_browser(), args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 1200, "height": 800})
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        await page.goto(link)
        await page.wait_for_selector(".xterm-screen")
        await page.wait_for_function("() => !document.body.classList.contains('-loading')", timeout=40_000)
        await page.wait_for_selector(".xterm-helper-textarea:focus", state="attached")  # no click is needed for keys
        before = await page.screenshot()
        await page.keyboard.press("2")
        deadline = time.monotonic() + WAIT_SECONDS
        while await page.screenshot() == before:
            assert time.monotonic() < deadline, "a key changes nothing"
        assert not failures
        await browser.close()
