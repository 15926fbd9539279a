"""Processes keys and pastes in the order in which they arrive, whichever widget has the focus.

Textual queues a key at the focused widget. A key that is not text then goes to the app, which looks up its binding. Text that
arrives meanwhile overtakes it, so in a burst a backspace deletes the wrong letter. Here the bindings of a text field run in
its own queue, in order with the text. Any other key delays all later ones until every widget on its way has handled the key
and the messages that follow from it.
"""

import asyncio
from contextlib import suppress

from textual import work
from textual.app import App, ScreenStackError
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump
from textual.widget import Widget
from textual.widgets import Input, TextArea

PATIENCE_SECONDS = 2.0
"""time limit for one key and those that arrive meanwhile, because a widget that is being removed handles no messages"""
ROUNDS = 3
"""a binding may post a message whose handler posts another or moves the focus"""


class OrderedKeysApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self._typed: asyncio.Queue[Key | Paste] = asyncio.Queue()

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            self._typed.put_nowait(event)
        else:
            await super().on_event(event)

    @work(group="keys")
    async def forward_keys(self) -> None:
        hurried = 0  # keys that a stuck widget has delayed long enough
        while True:
            event = await self._typed.get()
            try:
                async with asyncio.timeout(0 if hurried else PATIENCE_SECONDS):
                    await self._handled(event, self.focused or self.screen)
            except TimeoutError:
                hurried = hurried or self._typed.qsize() + 1
            except ScreenStackError:
                pass
            hurried = max(0, hurried - 1)
            self._typed.task_done()

    async def _handled(self, event: Key | Paste, target: Widget) -> None:
        """Returns when the next key may be processed."""
        self.call_later(self._forward, event, target)
        if isinstance(event, Key) and target.check_consume_key(event.key, event.character):
            return
        await _drained(self)
        if event.is_forwarded and _edits(target, event):
            return
        for node in [*target.ancestors_with_self] * ROUNDS:
            await _drained(node)
        await _drained(self.screen)  # a new one sets its focus

    async def _forward(self, event: Key | Paste, target: Widget) -> None:
        await super().on_event(event)
        if event.is_forwarded and isinstance(event, Key) and _edits(target, event):
            event.stop()
            target.call_later(self._check_bindings, event.key)


def _edits(target: Widget, event: Key | Paste) -> bool:
    """Whether a text field handles the event by itself. Enter is excluded, because submitting may move the focus."""
    if not isinstance(target, Input | TextArea):
        return False
    return isinstance(event, Paste) or (event.key != "enter" and event.key in target._bindings.key_to_bindings)


async def messages_handled(pump: MessagePump | None) -> None:
    """Waits until a widget has handled all its messages, including text keys."""
    if pump is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await _drained(pump)


async def _drained(pump: MessagePump) -> None:
    done = asyncio.Event()
    if pump.call_later(done.set):
        await done.wait()
