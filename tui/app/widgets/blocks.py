"""A page of results: blocks one below the other, and plots side by side if they fit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual import work
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import ItemGrid, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from tidepool.engine.reports.blocks import INKS, ROLES, Block, Figure, Heat, Words, is_section
from tidepool.storage.errors import TidepoolError
from tidepool.tui.drawing.blocks import SHADES, block_lines
from tidepool.tui.drawing.figures import draw, preferred_height

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

VARIABLES = {role: role if role in ("primary", "accent", "quiet") else f"state-{role}" for role in ROLES}
MARKS = [f"mark-{place}" for place in range(len(INKS))]


class Plot(Widget, can_focus=False):
    def __init__(self, figure: Figure | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._figure = figure
        self._strips: list[Strip] = []
        self._last_request: object = None
        """the last request: figure, size and colours"""

    @property
    def drawn(self) -> bool:
        """Whether there is nothing left to draw."""
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
        request = (figure, size, str(colours))
        if request != self._last_request:
            self._last_request = request
            self._fetch(figure, size, colours)

    @work(exclusive=True, group="plot")
    async def _fetch(self, figure: Figure, size: Size, colours: dict[str, list[int]]) -> None:
        app = cast("TidepoolApp", self.app)
        try:
            rows = await app.plotting.ask(draw, figure, size.width, size.height, colours, app.no_color)
        except TidepoolError as error:
            rows = [[(f"The plot could not be drawn: {error}", None)]]
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


STYLES = {
    "title": "bold $primary",
    "heading": "$quiet",
    "strong": "bold",
    "finding": "bold",
    "quiet": "$quiet",
    "simulated": "$state-running",
    "warning": "$state-retried",
    **{f"heat-{level}": f"$text on $primary {4 + 19 * level}%" for level in range(len(SHADES))},
    **{name: f"${name}" for name in MARKS},
}
"""styles of the roles of `block_lines`"""
ANY_WIDTH = 10_000
MOST_ROWS = 200
NARROWEST_PLOT = 54
"""columns"""


class TextBlock(Widget):
    """A block that is not a figure, laid out for the available width."""

    def __init__(self, block: Block) -> None:
        wide = " -wide-block" if isinstance(block, Words) and block.level == "tree" else ""
        super().__init__(classes=f"block -{type(block).__name__.lower()}{wide}")
        self._block = block
        self._laid_out: tuple[int, Content] = (0, Content(""))

    def show(self, block: Block) -> None:
        self._block, self._laid_out = block, (0, Content(""))
        self.refresh(layout=True)

    def content(self, width: int) -> Content:
        if self._laid_out[0] != width:
            self._laid_out = width, content_of(self._block, width)
        return self._laid_out[1]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return max(map(len, self.content(container.width).plain.splitlines()), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.content(width).plain.count("\n") + 1

    def render(self) -> Content:
        return self.content(self.content_size.width)


def content_of(block: Block, width: int = ANY_WIDTH) -> Content:
    if isinstance(block, Figure):
        return Content(block.title)
    lines = block_lines(block, width, MOST_ROWS)
    return Content("\n").join(
        Content.assemble(*((text, STYLES.get(role, "")) for text, role in line)) for line in lines
    )


def split_plots(blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Returns the plots and the other blocks, without names of sections."""
    plots: list[Block] = [block for block in blocks if isinstance(block, Figure | Heat)]
    return plots, [block for block in blocks if block not in plots and not is_section(block)]


class BlockList(VerticalScroll, can_focus=True):
    def __init__(self, *, id: str | None = None, empty: str = "") -> None:
        super().__init__(id=id)
        self._blocks: list[Block] = []
        self._empty = empty

    def compose(self) -> ComposeResult:
        yield Static(Content(self._empty), classes="empty")

    async def show(self, blocks: Sequence[Block]) -> None:
        """Replaces the page. Blocks of the same types are changed in place, so that nothing moves."""
        if list(blocks) == self._blocks:
            return
        plots, other_blocks = split_plots(blocks)
        ordered = [*other_blocks, *plots]
        before, self._blocks = self._blocks, list(blocks)
        if [type(block) for block in before] == [type(block) for block in blocks] and self.children:
            for widget, block in zip(self.query(".block"), ordered, strict=True):
                match widget, block:
                    case Plot(), Figure():
                        widget.show(block)
                    case TextBlock(), _:
                        widget.show(block)
            return
        widgets = [_widget(block) for block in ordered]
        texts = widgets[: len(widgets) - len(plots)]
        grid = ItemGrid(*widgets[len(texts) :], min_column_width=NARROWEST_PLOT, classes="plots")
        with self.app.batch_update():
            await self.remove_children()
            await self.mount_all([*texts, grid] if plots else texts)

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Restyles only the page itself, because its contents look the same with and without the focus."""
        self.app.stylesheet.update_nodes([self])

    def copied(self) -> str:
        """Returns the whole page as text. A plot is represented by its title."""
        return "\n\n".join(content_of(block).plain for block in self._blocks)


def _widget(block: Block) -> Plot | TextBlock:
    if not isinstance(block, Figure):
        return TextBlock(block)
    plot = Plot(block, classes="block")
    if block.form in ("means", "bars"):
        # one line for each value; the grid takes the bottom margin from the cell
        plot.styles.height = plot.styles.min_height = preferred_height(block, NARROWEST_PLOT) + 1
    return plot
