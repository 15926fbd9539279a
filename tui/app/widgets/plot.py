"""A plot: drawn beside the app, shown as ready strips, never drawn twice for the same data, size and theme."""

from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual import work
from textual.color import Color
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from tidepool.engine.results.blocks import INKS, ROLES, Figure, as_json
from tidepool.storage.errors import TidepoolError

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

VARIABLES = {role: role if role in ("primary", "accent", "quiet") else f"state-{role}" for role in ROLES}
MARKS = [f"mark-{place}" for place in range(len(INKS))]


class Plot(Widget, can_focus=False):
    def __init__(self, figure: Figure | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._figure = figure
        self._strips: list[Strip] = []
        self._asked: object = None
        """what was asked for last: figure, size and colours"""

    @property
    def drawn(self) -> bool:
        """Whether what was asked for is there, or nothing was."""
        return self._figure is None or bool(self._strips)

    def show(self, figure: Figure) -> None:
        if figure != self._figure:
            self._figure = figure
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        figure, size = self._figure, self.size
        if figure is None or size.width < 10 or size.height < 3:
            return
        variables = self.app.theme_variables
        colours = {role: list(Color.parse(variables[name]).rgb) for role, name in VARIABLES.items()}
        colours |= {name: list(Color.parse(variables[name]).rgb) for name in MARKS}
        asked = (figure, size, str(colours))
        if asked != self._asked:
            self._asked = asked
            self._fetch(figure, size, colours)

    @work(exclusive=True, group="plot")
    async def _fetch(self, figure: Figure, size: Size, colours: dict[str, list[int]]) -> None:
        app = cast("TidepoolApp", self.app)
        shape = {"width": size.width, "height": size.height, "colours": colours, "plain": app.no_color}
        try:
            rows = await app.beside.ask("draw", figure=as_json(figure), **shape)
        except TidepoolError as error:
            rows = [[[f"could not be drawn: {error}", None]]]
        base = self.visual_style.rich_style
        self._strips = [
            Strip([Segment(text, base + Style.parse(colour) if colour else base) for text, colour in row])
            for row in rows
        ]
        self.refresh()

    def render_line(self, y: int) -> Strip:
        base = self.visual_style.rich_style
        strip = self._strips[y] if y < len(self._strips) else Strip([])
        return strip.adjust_cell_length(self.size.width, base)
