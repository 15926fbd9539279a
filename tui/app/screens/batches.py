"""Home: all batches of the file."""

from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tidepool.storage.reading.watching import Watched, all_watched, changes
from tidepool.tui.app.kind_screens import STARTERS, Starter
from tidepool.tui.app.screens.batch_actions import BATCH_BINDINGS, BatchActions
from tidepool.tui.app.widgets.batch_list import ORDERS, BatchList, chosen, status_of
from tidepool.tui.app.widgets.greeting import Greeting
from tidepool.tui.drawing.plain import one_line
from tidepool.tui.drawing.words import count, span


class BatchesScreen(BatchActions):
    MODE = "batches"
    HELP = """All batches of this file. Running ones move, whoever started them. Enter opens a batch: a running one to
    watch, an ended one with its results. Space marks several to compare. Type / to filter by name, kind or state."""
    BINDINGS = [
        Binding("n", "app.go('compose')", "New", id="batches.new", tooltip="compose a study"),
        *BATCH_BINDINGS,
        Binding("slash", "filter", "Filter", key_display="/", id="batches.filter", priority=True),
        Binding("o", "sort", "Sort", id="batches.sort", tooltip="by age, name, state, cost, size"),
        Binding("space", "mark", "Mark", id="batches.mark", tooltip="several of them, to compare"),
        Binding("m", "compare", "Compare", id="batches.compare", tooltip="the marked ones side by side"),
        Binding("escape", "clear", "Clear the filter", show=False),
        *(
            Binding(starter.key, f"start('{starter.key}')", starter.title, show=False, tooltip=starter.text)
            for starter in STARTERS
        ),
    ]
    AUTO_FOCUS = "BatchList"

    def __init__(self) -> None:
        super().__init__()
        self._all: Sequence[Watched] = ()
        self._seen = -1
        self._quiet = 0

    def compose_body(self) -> Iterable[Widget]:
        yield Greeting()
        with Vertical(id="batch-list"):
            yield Input(placeholder="filter: words of name, kind or state", id="filter", compact=True)
            yield BatchList(id="batches")
            yield Static("", id="batch-detail")

    @property
    def table(self) -> BatchList:
        return self.query_one(BatchList)

    @property
    def shown_batch(self) -> Watched | None:
        return self.table.current if self.is_mounted else None

    # -- the file ----------------------------------------------------------------------------------------

    async def look(self) -> None:
        """Where nothing was written and nothing runs, nothing is read; a process that died is noticed in a second."""
        seen = await self.tidepool.file.look(changes)
        self._quiet += 1
        if seen == self._seen and not (self._quiet >= 4 and any(batch.running for batch in self._all)):
            if self._quiet % 40 == 0:
                self.table.touch_all()
            return
        self._seen, self._quiet = seen, 0
        self._all = await self.tidepool.file.look(all_watched, self.tidepool.path)
        self._show()

    def _show(self) -> None:
        self.set_class(not self._all, "-empty")
        self.query_one(Greeting).display = not self._all
        shown = self.query_one("#batch-list")
        if self._all and not shown.display:
            self.call_after_refresh(self.table.focus)
        shown.display = bool(self._all)
        self.table.show(chosen(self._all, self.query_one("#filter", Input).value, self.table.order))
        self._detail()

    def _detail(self) -> None:
        batch = self.shown_batch
        self.query_one("#batch-detail", Static).update(Content("") if batch is None else detail(batch))
        self.refresh_bindings()

    # -- the person --------------------------------------------------------------------------------------

    @on(BatchList.Highlighted)
    def _moved(self) -> None:
        self._detail()

    @on(BatchList.Opened)
    def action_open(self) -> None:
        if batch := self.shown_batch:
            self.tidepool.open_batch(batch, "watch" if batch.running or batch.status == "pending" else "results")

    def action_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.display = True
        self.set_focus(field)

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    @on(Input.Submitted, "#filter")
    def _filter_done(self) -> None:
        self.query_one("#filter", Input).display = bool(self.query_one("#filter", Input).value)
        self.table.focus()

    def action_clear(self) -> None:
        field = self.query_one("#filter", Input)
        field.value = ""
        field.display = False
        self.table.focus()

    @on(BatchList.SortAsked)
    def action_sort(self) -> None:
        names = list(ORDERS)
        self.table.order = names[(names.index(self.table.order) + 1) % len(names)]
        self._show()
        self.table.touch_all()

    def action_mark(self) -> None:
        self.table.toggle_mark()

    def action_compare(self) -> None:
        marked = self.table.marked
        if len(marked) < 2:
            self.notify("Mark two or more batches with the space bar first.", markup=False)
        else:
            self.tidepool.compare(marked)

    @on(Greeting.Chosen)
    def _chosen(self, event: Greeting.Chosen) -> None:
        self._start(event.starter)

    def action_start(self, key: str) -> None:
        self._start(next(starter for starter in STARTERS if starter.key == key))

    def _start(self, starter: Starter) -> None:
        self.tidepool.run_config(starter.path, starter.title)


def detail(batch: Watched) -> Content:
    """Two lines on the batch under the cursor: what it came to, and what can be done."""
    first = f"{batch.id} · seed {batch.seed} · {count(batch.calls)} calls · {span(batch.seconds)}"
    if batch.failed:
        first += f" · {count(batch.failed)} calls failed"
    if batch.simulated:
        first += " · simulated in part" if batch.partly_simulated else " · simulated answers"
    return Content.assemble((first, "$quiet"), "\n", *_advice(batch))


def _advice(batch: Watched) -> list[tuple[str, str] | str]:
    reason = one_line(batch.reason or "")
    match status_of(batch):
        case "interrupted":
            return [("interrupted", "$state-retried"), f" ({reason or 'its process died'}): u goes on where it stopped"]
        case "partial" | "failed":
            said = f" {reason}:" if reason else ":"
            return [(batch.status, "$state-failed"), f"{said} u tries the {batch.units_failed:,} failed units again"]
        case "in_progress":
            return ["enter watches it"]
        case "paused":
            return ["paused: p lets it go on"]
        case "pending":
            return ["about to start"]
    return [f"{reason or one_line(batch.description)}"]
