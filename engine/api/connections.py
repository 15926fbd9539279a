"""Connections that wait for nobody: headers that never end, and readers that never read, are let go of."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 200
HEADER_SECONDS = 10.0
READER_SECONDS = 60.0
"""how long somebody who asked for something may read none of it"""
KEPT_SECONDS = 15
"""how long a connection stays open between two requests"""
MOST_HEADER_BYTES = 32 * 2**10


class PatientProtocol(H11Protocol):
    """uvicorn's own, with a clock for what it waits for endlessly."""

    _waits_for_headers: asyncio.TimerHandle | None = None
    _waits_for_reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > 2 * MOST_CONNECTIONS:  # uvicorn answers 503 above half of that
            transport.abort()
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        _end(self._waits_for_headers)
        _end(self._waits_for_reader)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            _end(self._waits_for_headers)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._await_headers(KEPT_SECONDS + HEADER_SECONDS)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._waits_for_reader = self.loop.call_later(READER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        _end(self._waits_for_reader)
        super().resume_writing()

    def _await_headers(self, seconds: float | None = None) -> None:
        _end(self._waits_for_headers)
        wait = HEADER_SECONDS if seconds is None else seconds
        self._waits_for_headers = self.loop.call_later(wait, self.transport.abort)


def _end(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
