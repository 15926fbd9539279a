"""The finding so far: its figure in a line, and one plot that grows."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tidepool.tui.app.findings import Finding
from tidepool.tui.app.widgets.plot import Plot
from tidepool.tui.drawing.plain import one_line

NOTHING = "Nothing found yet: all go on together, wave by wave, and what counts is how each of them ends."


class FindingPane(Vertical, can_focus=True):
    def compose(self) -> ComposeResult:
        yield Static(Content(NOTHING), id="finding-words")
        yield Plot(id="finding-plot")

    def show(self, finding: Finding) -> None:
        headline, figure, plot = finding.headline, finding.figure, self.query_one(Plot)
        if headline is not None or figure is None:
            words = Content.styled(one_line(headline.text), "bold") if headline else Content.styled(NOTHING, "$quiet")
            self.query_one("#finding-words", Static).update(words)
        self.query_one("#finding-words").display = headline is not None or figure is None
        plot.display = figure is not None
        if figure is not None:
            plot.show(figure)
