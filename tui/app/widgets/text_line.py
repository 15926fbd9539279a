"""A line to type into."""

from textual import events
from textual.widgets import Input


class TextLine(Input):
    def on_click(self, event: events.Click) -> None:
        """Two clicks take hold of all that is in it: what is typed then stands in its place."""
        if event.chain == 2:
            self.select_all()

    def on_paste(self, event: events.Paste) -> None:
        """Joins the lines of a paste: Textual inserts the first one only."""
        lines = event.text.splitlines()
        if len(lines) > 1:
            event.text = " ".join(filter(None, map(str.strip, lines)))
