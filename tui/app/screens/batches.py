"""The Batches screen: all batches of the file."""

from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tidepool.storage.queries.lists import with_studies
from tidepool.storage.queries.watching import BatchLine, changes, read_batches
from tidepool.tui.app.kind_screens import STARTERS
from tidepool.tui.app.screens.base import BATCH_BINDINGS, BatchActions
from tidepool.tui.app.widgets.batch_list import ORDERS, BatchList, arrange, finding_of, status_of
from tidepool.tui.app.widgets.frame import Greeting, TextLine
from tidepool.tui.drawing.text import count, one_line, span


class BatchesScreen(BatchActions):
    MODE = "batches"
    HELP = """This screen lists all batches of the file. Running batches update live, whichever process runs them. Enter opens
    a batch: a running one in Watch, an ended one in Results. Press space to mark batches, then m to compare them. Press / to
    filter by name, kind or state."""
    BINDINGS = [
        Binding("n", "app.go('compose')", "New", tooltip="compose a study"),
        *BATCH_BINDINGS,
        Binding("slash", "filter", "Filter", key_display="/", priority=True),
        Binding("S", "sort", "Sort", tooltip="by age, name, state, cost or size"),
        Binding("right", "unfold(True)", "Show cells", tooltip="list the batches of a study"),
        Binding("left", "unfold(False)", "Hide cells", show=False),
        Binding("space", "mark", "Mark", tooltip="mark batches to compare"),
        Binding("m", "compare", "Compare", tooltip="compare the marked batches"),
        Binding("escape", "clear", "Clear filter", show=False),
        *(
            Binding(starter.key, f"start('{starter.key}')", starter.title, show=False, tooltip=starter.text)
            for starter in STARTERS
        ),
    ]
    AUTO_FOCUS = "BatchList"

    def __init__(self) -> None:
        super().__init__()
        self._all: Sequence[BatchLine] = ()
        self._change_count = -1
        self._quiet = 0

    def compose_body(self) -> Iterable[Widget]:
        yield Greeting()
        with Vertical(id="batch-list"):
            yield TextLine(placeholder="filter: name, kind or state", id="filter", compact=True)
            yield BatchList(id="batches")
            yield Static("", id="batch-detail")

    @property
    def table(self) -> BatchList:
        return self.query_one(BatchList)

    @property
    def shown_batch(self) -> BatchLine | None:
        return self.table.current if self.is_mounted else None

    async def look(self) -> None:
        """Reads the batches only if the file changed or a batch runs. Notices a dead process within a second."""
        change_count = await self.tidepool.file.look(changes)
        self._quiet += 1
        if change_count == self._change_count and not (self._quiet >= 4 and any(batch.running for batch in self._all)):
            if self._quiet % 40 == 0:
                self.table.refresh()
            return
        self._change_count, self._quiet = change_count, 0
        self._all = await self.tidepool.file.look(
            lambda connection: with_studies(connection, read_batches(connection, self.tidepool.path))
        )
        self._show()

    @on(Input.Changed, "#filter")
    def _show(self) -> None:
        self.set_class(not self._all, "-empty")
        self.query_one(Greeting).display = not self._all
        list_widget = self.query_one("#batch-list")
        if self._all and not list_widget.display:
            self.call_after_refresh(self.table.focus)
        list_widget.display = bool(self._all)
        self.table.show(
            arrange(self._all, self.query_one("#filter", Input).value, self.table.order, self.table.unfolded)
        )
        self._detail()

    @on(BatchList.Highlighted)
    def _detail(self) -> None:
        batch = self.shown_batch
        self.query_one("#batch-detail", Static).update(Content("") if batch is None else detail(batch))
        self.refresh_bindings()

    @on(BatchList.Opened)
    def action_open(self) -> None:
        if batch := self.shown_batch:
            self.tidepool.open_batch(batch)

    def action_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.display = True
        self.set_focus(field)

    @on(Input.Submitted, "#filter")
    def _filter_done(self) -> None:
        field = self.query_one("#filter", Input)
        field.display = bool(field.value)
        self.table.focus()

    def action_clear(self) -> None:
        field = self.query_one("#filter", Input)
        field.value = ""
        field.display = False
        self.table.focus()

    @on(BatchList.SortRequested)
    def action_sort(self) -> None:
        names = list(ORDERS)
        self.table.order = names[(names.index(self.table.order) + 1) % len(names)]
        self._show()

    def action_unfold(self, unfolded: bool) -> None:
        """Shows or hides the cells of a study. Works on its cells too."""
        if batch := self.shown_batch:
            self.table.unfold(batch.study_id or batch.id, unfolded)
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "unfold":
            return (batch := self.shown_batch) is not None and bool(batch.cells or batch.study_id)
        if action == "start":  # in an empty file only, so that a key never starts a batch in your study
            return self.has_class("-empty")
        return super().check_action(action, parameters)

    def action_mark(self) -> None:
        self.table.mark_and_step()

    def action_compare(self) -> None:
        marked = self.table.marked
        if len(marked) < 2:
            self.notify("First mark two or more batches with the space bar.")
        else:
            self.tidepool.compare(marked)

    def action_start(self, key: str) -> None:
        starter = next(starter for starter in STARTERS if starter.key == key)
        self.tidepool.run_config(starter.path, starter.title)


def detail(batch: BatchLine) -> Content:
    """Describes the batch under the cursor: its result, its cost in time and calls, and what you can do."""
    note = f"study of {batch.cells:,} batches · " if batch.cells else ""
    if batch.study_id:
        note = f"cell of study {batch.study_id} · "
    first = f"{batch.id} · {note}seed {batch.seed} · {count(batch.calls)} requests · {span(batch.seconds)}"
    if batch.failed:
        first += f" · {count(batch.failed)} failed requests"
    if batch.simulated:
        first += " · partly simulated" if batch.partly_simulated else " · simulated"
    lines = [Content.styled(first, "$quiet"), Content.assemble(*_advice(batch))]
    if finding := finding_of(batch):
        lines.insert(0, Content.styled(one_line(finding.text), "bold"))
    return Content("\n").join(lines)


def _advice(batch: BatchLine) -> list[tuple[str, str] | str]:
    reason = one_line(batch.reason or "")
    if batch.cells and status_of(batch) in ("completed", "in_progress"):
        return ["press → to show its cells, enter to open it"]
    match status_of(batch):
        case "interrupted":
            return [("interrupted", "$state-retried"), f" ({reason or 'its process died'}): press u to resume"]
        case "partial" | "failed":
            cause = f" {reason}:" if reason else ":"
            return [(batch.status, "$state-failed"), f"{cause} press u to retry {batch.units_failed:,} failed units"]
        case "in_progress":
            return ["press enter to watch"]
        case "paused":
            return ["paused: press p to continue"]
    return [f"{reason or one_line(batch.description)}"]
