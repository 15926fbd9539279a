"""Coding a sample of a batch by hand: how it is to be done, and then one side after another, one key a code."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Label, Select, Static

from tidepool.engine.coding.sample import Unit
from tidepool.engine.coding.session import CodingSession, Subject, coder_name, take_codes, write_sample
from tidepool.engine.errors import UsageError
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app.dialogs.basic import Dialog, buttons
from tidepool.tui.app.widgets.frame import KeyLine, TextLine
from tidepool.tui.app.widgets.rows import Passage, ReadingPane
from tidepool.tui.drawing.text import one_line, shortened

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

T = TypeVar("T")
UNITS = {"sides": "sides: all that one of them said in a talk", "messages": "messages, one by one"}


@dataclass(frozen=True, slots=True)
class CodingWish:
    """What is to be done, and with which sample."""

    act: str
    """code, export or import"""
    coder: str
    unit: Unit
    size: int | None
    path: Path

    def session(self, database: Path, batch_id: str) -> CodingSession:
        return CodingSession(database, batch_id, self.coder, self.unit, size=self.size)

    def exchanged(self, session: CodingSession) -> str:
        """CSV out or in; what came of it in words."""
        if self.act == "export":
            return f"{write_sample(session, self.path):,} {self.unit} are in {self.path}."
        taken = take_codes(session, self.path)
        return f"Codes of {self.coder}: {taken.new:,} new, {taken.changed:,} changed, {taken.same:,} the same."


class CodingStart(Dialog[CodingWish]):
    """Who codes, what, and how much of it; or the same by CSV."""

    AUTO_FOCUS = "#coder"

    def __init__(self, batch: Watched) -> None:
        super().__init__()
        self._batch = batch

    def compose(self) -> ComposeResult:
        units = [(words, unit) for unit, words in UNITS.items() if unit == "sides" or self._batch.kind == "secret_game"]
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Content("Code by hand")
            yield Label("who codes; several may code the same sample")
            yield TextLine(coder_name(None), id="coder", compact=True)
            yield Label("what is coded")
            yield Select(units, value="sides", allow_blank=False, id="unit", compact=True)
            yield Label("how many (100, or as many as were drawn already)")
            yield TextLine("", id="size", compact=True)
            yield Label("CSV file, for coders without Tidepool")
            yield TextLine(f"{self._batch.id}-coding.csv", id="path", compact=True)
            yield Static("", id="fault", classes="fault")
            yield buttons(**{"code": "Code (enter)", "export": "CSV out", "import": "CSV in", "cancel": "Cancel"})

    def accept(self) -> None:
        self._wish("code")

    def pressed(self, button: str) -> None:
        if button == "cancel":
            self.dismiss(None)
        else:
            self._wish(button)

    def _wish(self, act: str) -> None:
        try:
            coder = coder_name(self.query_one("#coder", Input).value)
            size = _whole(self.query_one("#size", Input).value)
        except UsageError as error:
            self.query_one("#fault", Static).update(Content(shortened(str(error))))
            return
        unit: Unit = "messages" if self.query_one("#unit", Select).value == "messages" else "sides"
        path = self.query_one("#path", Input).value.strip()
        self.dismiss(CodingWish(act, coder, unit, size, Path(path or f"{self._batch.id}-coding.csv")))


def _whole(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal():
        raise UsageError("How many are coded is a whole number, such as 100.")
    return int(text)


class CodingDialog(Dialog[None]):
    """The whole screen: a talk is to be read."""

    BINDINGS = [
        Binding("y", "code('y')", "Yes"),
        Binding("n", "code('n')", "No"),
        *(Binding(f"{digit}", f"code('{digit}')", f"Rate {digit}", show=False) for digit in range(10)),
        Binding("question_mark", "code('?')", "Cannot tell", key_display="?"),
        Binding("enter", "typed", "Take the number", show=False, priority=True),
        Binding("u", "undo", "Undo"),
        Binding("s", "skip", "Skip"),
        Binding("q", "leave", "Stop"),
        Binding("escape", "leave", "Stop", show=False),
    ]
    AUTO_FOCUS = "ReadingPane"

    def __init__(self, session: CodingSession) -> None:
        super().__init__()
        self._session = session
        self._subject: Subject | None = None
        self._busy = True
        """a key that is pressed before the next side is seen is none"""
        self._number = ""
        """a rating of several digits, as far as it is typed"""

    def compose(self) -> ComposeResult:
        with Vertical(id="coding"):
            yield Static("", id="coding-head")
            yield ReadingPane(id="coding-talk")
            yield Static("", id="coding-question")
            yield KeyLine(compact=True)

    def on_mount(self) -> None:
        self._go_on(lambda: None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "typed":
            return self._session.book.typed
        return action != "code" or parameters[0] in self._session.book.keys

    # -- the file ----------------------------------------------------------------------------------------

    @work(group="code")
    async def _go_on(self, act: Callable[[], object]) -> None:
        """Does it, and shows the next side."""
        self._busy = True
        try:
            app = cast("TidepoolApp", self.app)
            await app.file.do(act)
            self._subject = await app.file.do(self._session.subject)
        except TidepoolError as error:
            cast("TidepoolApp", self.app).tell(error)
            return
        finally:
            self._busy = False
        self._number = ""
        self._show()

    def _show(self) -> None:
        subject, session = self._subject, self._session
        head = f"{session.progress.words} coded by {one_line(session.coder)}"
        if subject is not None and subject.secret is not None:
            head += f" · secret: {one_line(subject.secret, 60)}"
        self.query_one("#coding-head", Static).update(Content(head))
        passages = [Passage("All is coded: the results tell what follows.")]
        if subject is not None:
            said = (Passage(one.text, "" if one.own else "dim", one.speaker) for one in subject.said)
            passages = [part for passage in said for part in (passage, Passage(""))]
        self.query_one(ReadingPane).show(passages)
        self.query_one("#coding-question", Static).update(Content(self._question()))

    def _question(self) -> str:
        subject, book = self._subject, self._session.book
        if subject is None:
            return ""
        told: str = one_line(book.question, 300)
        if book.scale is not None:
            told += f" ({one_line(subject.about, 40)}; {one_line(book.words)})"
        return f"{told} > {self._number}" if book.typed else told

    # -- the person --------------------------------------------------------------------------------------

    def action_code(self, key: str) -> None:
        self._take(self._session.book.keys[key])

    def action_typed(self) -> None:
        code = self._session.book.read(self._number)
        self._number = ""
        if code is None:
            self.notify(f"Type {self._session.book.words}, then Enter.", markup=False)
            self._show()
        else:
            self._take(code)

    def on_key(self, event: Key) -> None:
        if self._session.book.typed and not self._busy:
            if event.key == "backspace":
                self._number = self._number[:-1]
            elif event.character and event.character in "0123456789.,-":
                self._number = (self._number + event.character)[:12]
            else:
                return
            self._show()

    def _take(self, code: str) -> None:
        if not self._busy and (subject := self._subject) is not None:
            self._go_on(lambda: self._session.code(subject, code))

    def action_undo(self) -> None:
        if not self._busy:
            self._go_on(self._session.undo)

    def action_skip(self) -> None:
        if not self._busy:
            self._go_on(self._session.skip)
