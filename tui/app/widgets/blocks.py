"""A page of results: blocks laid out one below the other, plots side by side where there is room."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
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

from tidepool.engine.results.blocks import (
    INKS,
    ROLES,
    Block,
    Cell,
    Figure,
    Folded,
    Headline,
    Heat,
    Named,
    Table,
    Words,
    as_json,
    more,
    text_of,
)
from tidepool.storage.errors import TidepoolError
from tidepool.tui.drawing.blocks import folded_text
from tidepool.tui.drawing.figures import label_texts, lies, preferred_height
from tidepool.tui.drawing.text import fitted, one_line, shortened

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
        request = (figure, size, str(colours))
        if request != self._last_request:
            self._last_request = request
            self._fetch(figure, size, colours)

    @work(exclusive=True, group="plot")
    async def _fetch(self, figure: Figure, size: Size, colours: dict[str, list[int]]) -> None:
        app = cast("TidepoolApp", self.app)
        shape = {"width": size.width, "height": size.height, "colours": colours, "plain": app.no_color}
        try:
            rows = await app.plotting.ask("draw", figure=as_json(figure), **shape)
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


STYLES = {"strong": "bold", "quiet": "$quiet", "simulated": "$state-running", "warning": "$state-retried"}
WIDEST_CELL, NARROWEST_CELL = 40, 12
NARROWEST_SHARE = 6
"""cells of a share in a heat map: 100 % and a gap"""
ANY_WIDTH = 10_000
MOST_ROWS = 200


NARROWEST_PLOT = 54
"""columns"""


class BlockList(VerticalScroll, can_focus=True):
    def __init__(self, *, id: str | None = None, empty: str = "") -> None:
        super().__init__(id=id)
        self._blocks: list[Block] = []
        self._empty = empty
        self._space = ANY_WIDTH

    def compose(self) -> ComposeResult:
        yield Static(Content(self._empty), classes="empty")

    async def show(self, blocks: Sequence[Block]) -> None:
        """Takes the page anew; what has the same shape is changed in place, so nothing jumps."""
        if list(blocks) == self._blocks:
            return
        before, self._blocks = self._blocks, list(blocks)
        self._space = self._width
        if [type(block) for block in before] == [type(block) for block in blocks] and self.children:
            widgets = list(self.query(".block"))
            if len(widgets) == len(blocks):
                for widget, block in zip(widgets, blocks, strict=True):
                    _change(widget, block, self._space)
                return
        with self.app.batch_update():
            await self.remove_children()
            await self.mount_all(list(self._widgets(blocks)))

    def watch_has_focus(self, _has_focus: bool) -> None:
        """What is on the page looks the same with the focus and without: only the page itself is styled anew."""
        self.app.stylesheet.update_nodes([self])

    def copied(self) -> str:
        """The whole page as text; a plot is its title."""
        items = ((block.title if isinstance(block, Figure) else content_of(block).plain) for block in self._blocks)
        return "\n\n".join(items)

    @property
    def _width(self) -> int:
        """Beside the scroll bar, which comes once all is laid out."""
        return (self.content_size.width or self.app.size.width) - self.styles.scrollbar_size_vertical

    def on_resize(self) -> None:
        """Tables are laid out for the width there is."""
        if self._blocks and self._width != self._space:
            self._space = self._width
            items = [block for block in self._blocks if not isinstance(block, Figure | Heat)]
            for widget, block in zip(self.query(".block").exclude(".plots .block"), items, strict=False):
                if isinstance(block, Table):
                    _change(widget, block, self._space)

    def _widgets(self, blocks: Sequence[Block]) -> Iterator[Widget]:
        plots = [block for block in blocks if isinstance(block, Figure | Heat)]
        yield from (_widget(block, self._space) for block in blocks if not isinstance(block, Figure | Heat))
        if plots:
            yield ItemGrid(
                *(_widget(block, self._space) for block in plots), min_column_width=NARROWEST_PLOT, classes="plots"
            )


def _widget(block: Block, space: int) -> Widget:
    if isinstance(block, Figure):
        plot = Plot(block, classes="block")
        if block.form == "means" or (block.form == "bars" and lies(block, NARROWEST_PLOT)):
            # a line for each and no more; a grid takes the margin below from its cell
            plot.styles.height = plot.styles.min_height = preferred_height(block, NARROWEST_PLOT) + 1
        return plot
    if isinstance(block, Heat):
        return HeatMap(block)
    wide = isinstance(block, Table) and any(block.columns)
    wide = wide or (isinstance(block, Words) and block.level == "tree")
    return Static(
        content_of(block, space), classes=f"block -{type(block).__name__.lower()}" + (" -wide-block" if wide else "")
    )


def _change(widget: Widget, block: Block, space: int) -> None:
    match widget, block:
        case Plot(), Figure():
            widget.show(block)
        case HeatMap(), Heat():
            widget.show(block)
        case Static(), Words() | Headline() | Table() | Folded():
            widget.update(content_of(block, space))


def content_of(block: Words | Headline | Table | Heat | Folded, space: int = ANY_WIDTH) -> Content:
    match block:
        case Words():
            return Content.styled(shortened(block.text, 40_000), STYLES.get(block.level, ""))
        case Headline():
            return Content.styled(one_line(block.text), "bold")
        case Table():
            return _table(block, space)
        case Folded():
            return Content.styled(folded_text(block), "$quiet")
    return _heat(block, space)


class HeatMap(Static):
    """As wide as there is room: its columns become narrower before any is left out."""

    def __init__(self, heat: Heat) -> None:
        super().__init__(classes="block -heat")
        self._heat = heat

    def show(self, heat: Heat) -> None:
        self._heat = heat
        self.update(_heat(heat, self.content_size.width or ANY_WIDTH))

    def on_resize(self) -> None:
        self.show(self._heat)


def _table(block: Table, space: int) -> Content:
    """Facts, which have no column names, go on below where they are long; of other tables the first words give way to the
    figures, and may still be wider than the screen."""
    rows = [[one_line(text_of(cell)) for cell in row] for row in block.rows[:MOST_ROWS]]
    heads = [one_line(name) for name in block.columns]
    widths = [
        min(WIDEST_CELL if place < block.left else ANY_WIDTH, max(cell_len(row[place]) for row in (heads, *rows)))
        for place in range(len(heads))
    ]

    if any(heads) and block.left and (excess := sum(widths) + 2 * (len(widths) - 1) - space) > 0:
        widest = max(range(block.left), key=widths.__getitem__)
        widths[widest] = max(min(NARROWEST_CELL, widths[widest]), widths[widest] - excess)

    def row_of(row: Sequence[str]) -> str:
        return "  ".join(
            fitted(cell, width, right=place >= block.left)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()

    def line_of(row: Sequence[str], cells: Sequence[Cell]) -> Content:
        """Those who take part, where they come first, in their colour."""
        text = row_of(row)
        if not cells or not isinstance(cells[0], Named):
            return Content(text)
        name = min(len(text), widths[0])
        return Content.assemble((text[:name], f"$mark-{cells[0].place % len(INKS)}"), text[name:])

    lines = [Content.styled(one_line(block.title), "bold $primary")] if block.title else []
    if any(heads):
        lines += [Content.styled(row_of(heads), "$quiet"), *map(line_of, rows, block.rows)]
    else:
        lines += [Content.assemble((fitted(row[0], widths[0]) + "  ", "$quiet"), *row[1:]) for row in rows]
    if len(block.rows) > MOST_ROWS:
        lines.append(Content.styled(f"{more(len(block.rows) - MOST_ROWS)} in the export", "$quiet"))
    return Content("\n").join(lines)


def _heat(block: Heat, space: int) -> Content:
    """Each share as a number on a ground that warms with it."""
    rows, columns = (label_texts(names, block.places) for names in (block.rows, block.columns))
    width = min(14, max((cell_len(name) for name in rows), default=4))
    widest = max(8, min(12, max((cell_len(name) for name in columns), default=4) + 1))
    each = max(NARROWEST_SHARE, min(widest, (space - width - 1) // max(1, len(columns))))
    columns_shown = max(1, (space - width - 1) // each)
    title = Content.styled(fitted(one_line(block.title), min(space, cell_len(one_line(block.title)))), "bold $primary")
    heads = "".join(" " + fitted(name, each - 1, right=True) for name in columns[:columns_shown])
    lines = [title, Content.styled(" " * (width + 1) + heads, "$quiet")]
    for name, values in zip(rows, block.values, strict=True):
        cells = [_heat_cell(value, each) for value in values[:columns_shown]]
        lines.append(Content.assemble(fitted(name, width) + " ", *cells))
    if columns_shown < len(columns):
        lines.append(Content.styled(f"{more(len(columns) - columns_shown)} in the export", "$quiet"))
    return Content("\n").join([*lines, _scale()])


def _scale() -> Content:
    """What the grounds mean, from end to end."""
    grounds = [("  ", _ground(share)) for share in range(0, 101, 20)]
    return Content.assemble(("0 % ", "$quiet"), *grounds, (" 100 %", "$quiet"))


def _ground(share: float) -> str:
    return f"$text on $primary {max(4, int(share * 0.8))}%"


def _heat_cell(value: float | None, width: int) -> tuple[str, str]:
    if value is None:
        return fitted("·", width, right=True), "$state-waiting"
    return fitted(f"{value:.0f} % ", width, right=True), _ground(value)
