"""Speed, latency and money of a batch as plots, redrawn every other second."""

import time

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from tidepool.tui.app.throughput import Throughput, figures
from tidepool.tui.app.widgets.plot import Plot

REDRAW_SECONDS = 2.0


class PacePlots(VerticalScroll):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn_at = 0.0

    def compose(self) -> ComposeResult:
        for name in ("speed", "latency", "money"):
            yield Plot(id=f"pace-{name}")

    def show(self, pulse: Throughput, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = time.monotonic()
        shown = figures(pulse)
        for plot in self.query(Plot):
            figure = shown.get((plot.id or "").removeprefix("pace-"))
            plot.display = figure is not None
            if figure is not None:
                plot.show(figure)
