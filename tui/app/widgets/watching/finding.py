"""The finding so far: its figure in a line, and one plot that grows."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tidepool.tui.app.findings import Finding
from tidepool.tui.app.widgets.plot import Plot
from tidepool.tui.drawing.text import one_line

NOTHING = "Nothing found yet: all go on together, wave by wave, and what counts is how each of them ends."


WORKING = "working it out …"


class FindingPane(Vertical, can_focus=True):
    def compose(self) -> ComposeResult:
        yield Static(Content(WORKING), id="finding-words")
        yield Plot(id="finding-plot")

    def show(self, finding: Finding | None, *, running: bool = False) -> None:
        """None: it is not known yet."""
        headline, figure = (finding.headline, finding.figure) if finding else (None, None)
        words, plot = self.query_one("#finding-words", Static), self.query_one(Plot)
        words.display = headline is not None or figure is None
        if headline is not None:
            words.update(Content.styled(one_line(headline.text), "bold"))
        elif words.display:
            told = WORKING if finding is None else NOTHING if running else "nothing was found"
            words.update(Content.styled(told, "$quiet"))
        plot.display = figure is not None
        if figure is not None:
            plot.show(figure)
