"""What models, files and strangers write is shown, never obeyed: in every place that shows foreign text."""

import shutil
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.state import change
from tests.tui.persons import opened, press, screen_text, until, until_on, until_seen
from tests.tui.studies import game, played_now
from tidepool.storage.queries.lists import StoredMessage, Transcript
from tidepool.tui.app.dialogs.basic import Confirm, ErrorDialog
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.screens.watch import WatchScreen
from tidepool.tui.app.widgets.conversations import ConversationsPane
from tidepool.tui.app.widgets.transcript import TranscriptPane
from tidepool.tui.drawing.text import fitted, one_line, plain, wrapped
from tidepool.tui.drawing.transcript import talk_lines

HOSTILE = {
    "closing tag": "[/foo] [/] [b",
    "live link": "[@click=app.quit]press me[/]",
    "open link": "[link='x",
    "escape": "\x1b[2J\x1b]0;title\x07\x1b[31mred\x9b5m",
    "right to left": "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "lone surrogate": "half \ud83d pair",
    "long": "word " * 20_000,
    "one long word": "x" * 100_000,
    "accents without end": "e" + "\u0301" * 100_000,
    "nothing but spaces": " " * 100_000,
}
LONG = [name for name, text in HOSTILE.items() if len(text) > 1_000]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_made_plain_it_has_no_character_that_steers_a_terminal(text: str) -> None:
    shown = plain(text)
    assert all(character == "\n" or character.isprintable() for character in shown)
    assert "\n" not in one_line(text)
    shown.encode("utf-8")
    assert all(cell_len(fitted(shown, width)) == width for width in (0, 1, 7, 80))
    spans = wrapped(shown, 40)
    assert all(0 <= start <= end <= len(shown) for start, end in spans)


def poison(path: Path, text: str) -> None:
    """Puts a text into every place of the file that a screen shows."""
    safe = text.encode("utf-8", "replace").decode()
    change(path, "UPDATE batch SET name = ?1, description = ?1, reason = ?1", safe)
    change(path, "UPDATE call SET text = ?1, speaker = ?1, model = ?1", safe)
    change(path, "UPDATE unit SET participants = json_array(?1, ?1), error = ?1", safe)
    change(path, "UPDATE unit SET status = 'failed' WHERE sequence_number = 2")
    change(path, "UPDATE outcome SET agent = ?1 || side, opponent = ?1", safe[:200])
    change(path, "UPDATE log_line SET message = ?, level = ?", safe, safe[:50])


@pytest.fixture(scope="module")
def original(module_folder: Path) -> Path:
    played_now(module_folder / "study.db", game(talks=3))
    return module_folder / "study.db"


@pytest.mark.parametrize("name", LONG)
def test_a_message_of_100_kilobytes_is_laid_out_at_once(name: str) -> None:
    text = HOSTILE[name]
    said = StoredMessage(turn=1, speaker=text, model=text, content=text, thought=text, source="live")
    talk = Transcript(1, [text, text], "failed", text, 1, 1, [said], [], [], {})
    began = time.thread_time()
    lines = talk_lines(talk, 80, ("word", "x"))
    assert time.thread_time() - began < 2.0, "it took 30 seconds once"
    assert max(sum(len(text) for text, _ in line.pieces) for line in lines) < 2_000


async def test_every_screen_shows_what_is_long_and_lives(original: Path, tmp_path: Path) -> None:
    """`test_every_screen.py` shows what is nasty."""
    text = HOSTILE[LONG[0]]
    path = Path(shutil.copy(original, tmp_path / "study.db"))
    poison(path, text)
    async with opened(path, size=(120, 40)) as (app, pilot):
        await until_seen(pilot, "completed")
        await press(pilot, "x", until=Confirm)
        await pilot.press("n")
        await pilot.press("3")
        await until_on(pilot, WatchScreen, lambda screen: screen.query_one(TranscriptPane).talk is not None)
        await pilot.press("4", "slash")
        await until_on(pilot, ResultsScreen, lambda screen: screen.query_one(ConversationsPane).list.count == 3)
        await pilot.press("enter", "down")
        app.show_error(text)
        await until(pilot, lambda: isinstance(app.screen, ErrorDialog))
        app.notify(text[:200].encode("utf-8", "replace").decode(), markup=False)
        await pilot.pause()
        assert "\x1b" not in screen_text(app)
        assert app.is_running
