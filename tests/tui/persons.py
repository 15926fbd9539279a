"""What a person does with the app, for tests: open it, press keys, wait for what should appear."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual import _callback
from textual.app import ScreenStackError
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.screen import Screen
from textual.widget import Widget

from tests.support.state import query
from tests.tui.studies import played
from tidepool.storage.file import prepare
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.background import WorkerProcess
from tidepool.tui.app.compose.examination import Examiner
from tidepool.tui.app.screens import compose
from tidepool.tui.app.widgets.rows import Rows
from tidepool.tui.app.worker import Job, answer


@contextmanager
def quick_pilot() -> Iterator[None]:
    """By itself it sends a message to every widget and counts the answers: more work than most keys. Those who have no
    message, and wait for one, need not be asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "_wait_for_screen", _wait_for_screen)
        patch.setattr(_callback, "_count_parameters", lru_cache(maxsize=64)(_callback._count_parameters))
        yield


def _rests(pump: MessagePump) -> bool:
    queue = pump._message_queue
    return queue.empty() and pump._pending_message is None and bool(queue.ready_event._waiters)  # type: ignore[attr-defined]


async def _wait_for_screen(pilot: "Pilot[object]", timeout: float = 30.0) -> bool:
    try:
        screen = pilot.app.screen
    except ScreenStackError:
        return False
    asked, done = 0, asyncio.Event()

    def answered() -> None:
        nonlocal asked
        asked -= 1
        if not asked:
            done.set()

    for pump in (pilot.app, screen, *(one for one in screen.walk_children() if not _rests(one))):
        asked += pump.call_later(answered)
    if not asked:
        return True
    waits = [asyncio.create_task(event.wait()) for event in (done, pilot.app._exception_event)]
    finished, pending = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    if not finished:
        raise WaitForScreenTimeout("Timed out while waiting for widgets to process pending messages.")
    return not asked


WAIT_SECONDS = float(os.environ.get("TIDEPOOL_PATIENCE", 40))


class Within(WorkerProcess):
    """Does in a thread what the app has done by a process beside it; `test_beside.py` tries the processes."""

    def start(self) -> None:
        pass

    def _ask(self, job: Job) -> tuple[str, Any]:
        return answer(job)


class ExaminesWithin(Within, Examiner):
    """The same for drafts."""


@asynccontextmanager
async def opened(
    path: Path, *studies: str, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[TidepoolApp, Pilot[None]]]:
    """The app on a study file, as `open_app` opens it, once these studies were run into it."""
    prepare(path)
    for text in studies:
        await played(path, text)
    app = TidepoolApp(path)
    app.plotting, app.counting, app.examiner = Within(), Within(), ExaminesWithin()
    try:
        with pytest.MonkeyPatch.context() as patch, tasks_as_in_the_app(), quick_pilot():
            patch.setattr(compose, "PAUSE_SECONDS", 0.02)
            async with app.run_test(size=size) as pilot:
                yield app, pilot
    finally:
        for launched in app._launched:
            launched.process.kill()
            launched.process.wait(timeout=WAIT_SECONDS)
        app.shut_down()


@contextmanager
def tasks_as_in_the_app() -> Iterator[None]:
    """From Python 3.12 on, the app begins its tasks at once; Textual's pilot by itself does not."""
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    if hasattr(asyncio, "eager_task_factory"):
        loop.set_task_factory(asyncio.eager_task_factory)
    try:
        yield
    finally:
        loop.set_task_factory(before)


async def until(pilot: Pilot[None], condition: Callable[[], object], what: str = "") -> None:
    """Waits until something is so; a failed test says what was waited for and what was on the screen."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while not condition():
        if asyncio.get_running_loop().time() > deadline:
            batch = getattr(pilot.app.screen, "batch", None)
            raise AssertionError(
                f"waited in vain for {what or 'it'} ({batch}); the screen shows:\n{screen_text(pilot.app)}"
            )
        await pilot.pause(0.02)
    await pilot.pause()  # what has just been opened is there with all that is in it


ScreenT = TypeVar("ScreenT", bound=Screen[Any])


async def until_on(pilot: Pilot[None], kind: type[ScreenT], *also: Callable[[ScreenT], object]) -> ScreenT:
    """Waits for a screen or a dialog of this kind that takes keys, and of which this is so as well."""

    def there() -> bool:
        screen, focused = pilot.app.screen, pilot.app.focused
        return isinstance(screen, kind) and focused is not None and all(condition(screen) for condition in also)

    await until(pilot, there, kind.__name__)
    assert isinstance(pilot.app.screen, kind)
    return pilot.app.screen


async def press(pilot: Pilot[None], *keys: str, until: str | type[Screen[Any]]) -> None:
    """Presses the keys, and waits for words on the screen, or for a screen or dialog of a kind."""
    await pilot.press(*keys)
    if isinstance(until, str):
        await until_seen(pilot, until)
    else:
        await until_on(pilot, until)


async def until_seen(pilot: Pilot[None], text: str) -> None:
    await until(pilot, lambda: text in screen_text(pilot.app), f"the words {text!r}")


def screen_text(app: object) -> str:
    """All that is on the screen, as lines of text."""
    assert isinstance(app, TidepoolApp)
    _width, height = app.size
    lines = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in lines[:height])


def rows_text(rows: Rows) -> list[str]:
    """Every row of a list, in view or not."""
    return ["".join(piece[0] for piece in rows.draw(index, 200)).strip() for index in range(rows.count)]


def batch_status(path: Path) -> str | None:
    rows = query(path, "SELECT status FROM batch ORDER BY number DESC LIMIT 1")
    return rows[0][0] if rows else None


def text_of(widget: Widget) -> str:
    return str(widget.render())
