"""Keys and pastes take effect in the order in which they arrive, whichever widget has the focus.

Textual queues a key at the focused widget. A key that is not text goes on from there to the app, which looks up its
binding. Text that arrives meanwhile overtakes it: in a burst, a backspace deletes the wrong letter. Here such a key holds
back all later ones until every widget on its way has handled the key and the messages that follow from it.
"""

import asyncio
from contextlib import suppress

from textual import work
from textual.app import App, ScreenStackError
from textual.events import Event, Key, Paste
from textual.message_pump import MessagePump
from textual.widget import Widget

PATIENCE_SECONDS = 2.0
"""for one key; a widget that is being removed handles nothing any more"""
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
        while True:
            event = await self._typed.get()
            with suppress(ScreenStackError, TimeoutError):
                target = self.focused or self.screen
                self.call_later(self._forward, event)
                if isinstance(event, Paste) or not target.check_consume_key(event.key, event.character):
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        await self._handled_by(target)
            self._typed.task_done()

    async def _forward(self, event: Key | Paste) -> None:
        await super().on_event(event)

    async def _handled_by(self, target: Widget) -> None:
        await _drained(self)
        for node in [*target.ancestors_with_self] * ROUNDS:
            await _drained(node)
        await _drained(self.screen)  # a new one sets its focus


async def messages_handled(pump: MessagePump | None) -> None:
    """Waits until a widget has handled all its messages, text keys among them."""
    if pump is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await _drained(pump)


async def _drained(pump: MessagePump) -> None:
    done = asyncio.Event()
    if pump.call_later(done.set):
        await done.wait()
