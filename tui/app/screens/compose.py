"""The Compose screen: a study as a form and as TOML, which share one text, with its plan."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual import on, work
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static, TextArea

from tidepool.engine.config.toml_files import read_text
from tidepool.engine.errors import TidepoolError
from tidepool.engine.kinds import load_kind
from tidepool.engine.registries import is_custom
from tidepool.storage.library import list_agents, list_entities
from tidepool.storage.queries.watching import changes, read_batches
from tidepool.tui.app import launching
from tidepool.tui.app.background import while_open
from tidepool.tui.app.compose.draft import DraftHistory, anchored, config_to_run, fresh, keep_draft, kind_of, read_draft
from tidepool.tui.app.compose.edits import Append, Drop, Put, value_at
from tidepool.tui.app.compose.examination import Examined, placed
from tidepool.tui.app.compose.fields import UNSET, Form, KeyPath
from tidepool.tui.app.compose.outline import HOW, WHAT, WHO, Person, newcomer, pages_of, record_of
from tidepool.tui.app.compose.plan_text import cost, help_of, in_full, in_one_line, is_free, key_words, marked
from tidepool.tui.app.dialogs.basic import Choice, Confirm
from tidepool.tui.app.dialogs.draft import DraftOrigin, OpenDialog, PickDialog, SaveDialog
from tidepool.tui.app.dialogs.form import FormDialog
from tidepool.tui.app.key_order import messages_handled
from tidepool.tui.app.kind_screens import kind_titles
from tidepool.tui.app.provider_view import rules_in
from tidepool.tui.app.screens.base import ModeScreen, screen_action
from tidepool.tui.app.widgets.form_fields import FieldRow, TomlEditor, focused_row
from tidepool.tui.app.widgets.form_pages import FormPage, PeopleList, PeoplePage
from tidepool.tui.app.widgets.frame import NameStrip
from tidepool.tui.drawing.configs import config_of
from tidepool.tui.drawing.text import dollars, one_line, shortened

TOML, PLAN = "toml", "plan"
CALCULATING = Content("Calculating…")
STEP_KEYS = {
    WHAT: ("f5", "Question"),
    WHO: ("f6", "Participants"),
    HOW: ("f7", "Running"),
    PLAN: ("f9", "Plan"),
}

PAUSE_SECONDS = 0.2
"""pause in typing after which the draft is stored and planned"""


class ComposeScreen(ModeScreen):
    MODE = "compose"
    PERIOD = 1.0
    CSS_PATH = "compose.tcss"
    HELP = """Compose a study in three steps: the question (f5), the participants (f6) and the running (f7). You can also edit
    it as TOML (f2), because form and TOML share one text. An empty field uses the default, which is shown in grey. Groups of
    rare fields are folded. Enter on a title opens a group, and f3 opens all. In a model field, f4 lists models with prices.
    Escape leaves a field, so that the keys 1 to 6 change the screen again. On the two lines of names, the arrow keys choose
    the kind and the step. Your draft is saved next to the study file as you type. ctrl+z undoes the last change, and ctrl+y
    redoes it. In a field of several lines, they undo and redo typing there."""
    BINDINGS = [
        Binding("ctrl+r", "run", "Run", priority=True),
        Binding("f2", "toml", "Form/TOML", priority=True),
        Binding(
            "ctrl+o", "open", "Start from", priority=True, tooltip="a template, example, batch, file or earlier draft"
        ),
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="as a TOML file"),
        *(
            Binding(key, f"step('{name}')", title, priority=True, show=False)
            for name, (key, title) in STEP_KEYS.items()
        ),
        Binding("f3", "open_all", "Unfold all", priority=True, show=False),
        Binding("f8", "next_fault", "Next error", priority=True, show=False),
        Binding("ctrl+z", "undo", "Undo", show=False),
        Binding("ctrl+y", "redo", "Redo", show=False),
        Binding("escape", "leave_field", "Leave field", show=False),
    ]
    AUTO_FOCUS = "#pages"

    def __init__(self) -> None:
        super().__init__()
        self._history: DraftHistory | None = None
        self._examined = Examined()
        self._sentences: dict[KeyPath, str] = {}
        self._plan_shown = Content("")
        self._kind_shown: str | None = None
        self._last_form_page = WHAT
        self._library_changes = -1
        self._building = asyncio.Lock()
        self.form_pages: list[FormPage] = []

    def compose_body(self) -> Iterable[Widget]:
        with Horizontal(id="compose-head"):
            yield NameStrip(kind_titles(), self.history.kind or "", title="kind", id="kinds")
            yield Static("", id="compose-source")
        yield NameStrip({TOML: "TOML"}, TOML, id="pages")
        with Horizontal(id="compose-main"):
            with ContentSwitcher(id="compose-pages", initial=f"page-{TOML}"):
                yield TomlEditor.code_editor("", language="toml", theme="css", soft_wrap=True, id=f"page-{TOML}")
                with VerticalScroll(id=f"page-{PLAN}"):
                    yield Static("", id="plan-full")
            with VerticalScroll(id="plan-side"):
                yield Static("", id="plan-beside")
        yield Static("", id="plan-line")
        yield Static("", id="compose-bar")

    async def on_mount(self) -> None:
        await super().on_mount()
        await self._rebuild(WHAT if self.history.readable else TOML)
        self._study()

    async def _rebuild(self, page: str) -> None:
        """Builds the pages for the draft's kind, and updates everything shown."""
        async with self._building:
            self.read_inputs()
            history, switcher = self.history, self.query_one("#compose-pages", ContentSwitcher)
            kind = history.kind if history.readable else None
            if kind != self._kind_shown:
                self.form_pages = []  # so that no removed or unfinished page is shown
                await switcher.query(FormPage).remove()
                pages = [
                    (PeoplePage if page.people else FormPage)(page, history.values, id=f"page-{page.name}")
                    for page in (pages_of(kind) if kind is not None else ())
                ]
                for item in pages:
                    item.display = False
                await switcher.mount_all(pages)
                self._kind_shown, self.form_pages = kind, pages
            self.read_inputs()
            for item in self.form_pages:
                item.show(history.values)
            self.show_source()
            titles = {item.page.name: f"{STEP_KEYS[item.page.name][0]} {item.page.title}" for item in self.form_pages}
            here = page if page in titles or page in (TOML, PLAN) else next(iter(titles), TOML)
            names = {**titles, PLAN: f"{STEP_KEYS[PLAN][0]} Plan", TOML: "f2 TOML"}
            await self.query_one("#pages", NameStrip).set_names(names, here)
            self.query_one("#kinds", NameStrip).show(history.kind or "")
            self.read_inputs()
            self.query_one(TomlEditor).show(history.draft.text)
            for item in self.form_pages:
                if item.id == f"page-{here}" and not isinstance(item, PeoplePage):
                    await item.fill(self._sentences)
            self._turn_to(here)

    def show_examined(self, examined: Examined) -> None:
        self._examined = examined
        pages = self.form_pages
        self._sentences, unplaced = placed(examined.complaints, [path for page in pages for path in page.paths()])
        for page in pages:
            page.complain(self._sentences)
        faults = {page.page.name: len(set(page.paths()) & set(self._sentences)) for page in pages}
        if examined.line is not None or unplaced:
            faults[TOML] = len(unplaced) or 1
        self.query_one("#pages", NameStrip).mark({name: marked(count) for name, count in faults.items()})
        self._show_plan(in_full(examined), in_one_line(examined))
        self._show_help(shortened(" ".join(complaint.sentence for complaint in unplaced), 600))

    def _show_plan(self, whole: Content, line: Content) -> None:
        """Updates only changed parts, because an update of the plan lays out the screen again, and most letters do not change it."""
        if whole != self._plan_shown:
            self._plan_shown = whole
            for place in ("#plan-full", "#plan-beside"):
                self.query_one(place, Static).update(whole)
        self.query_one("#plan-line", Static).update(line, layout=False)

    def _drop_plan(self) -> None:
        """Removes the plan of the old study when another one replaces it."""
        self.workers.cancel_group(self, "study")
        self._examined, self._sentences = Examined(), {}
        self._show_plan(CALCULATING, CALCULATING)

    def _show_help(self, fault: str = "") -> None:
        """Shows an error that no field can show, else the help of the current field."""
        words = Content.styled(fault, "$state-failed")
        if not fault and (row := focused_row(self)):
            words = help_of(row.field, row.value)
        # without layout, because every tab would lay out the screen again
        self.query_one("#compose-bar", Static).update(words, layout=False)

    @work(group="study", exclusive=True)
    async def _study(self, pause: float = 0.0) -> None:
        """Updates the text, stores the draft and calculates the plan. A newer change cancels this."""
        await asyncio.sleep(pause)
        text = self.history.written()
        await self.keep()
        examined = await self.tidepool.examiner.examine(text, self.folder, self.tidepool.path)
        with while_open(self.app):
            self.show_examined(examined)

    def on_unmount(self) -> None:
        if self._history is not None and self._history.touched:
            self._history.written()
            try:
                keep_draft(self.tidepool.path, self._history.draft)
            except OSError:
                self.log("the draft could not be saved")

    async def look(self) -> None:
        """Reads the library again if the file has changed."""
        change_count = await self.tidepool.file.look(changes)
        if self.people is not None and change_count != self._library_changes:
            self._library_changes = change_count
            await self._read_library()

    # Typed text must never be lost. The draft follows the editors. An editor changes only if the user asks for it elsewhere
    # (another text, an undo), and only after everything typed was read.

    @on(FieldRow.Edited)
    def _edited(self, event: FieldRow.Edited) -> None:
        self._apply_typed(event.row)
        for page in self.form_pages:
            page.show(self.history.values, fields=False)
        if event.row.field.form is Form.CHOICE and event.row.has_focus_within:
            self._show_help()
        self._study(PAUSE_SECONDS)

    def _apply_typed(self, row: FieldRow) -> None:
        if row.take_typed():
            self.history.edit(Put(row.field.path, row.value))

    def read_inputs(self) -> None:
        if (text := self.query_one(TomlEditor).read_input()) is not None:
            self.history.type_text(text)
        for row in self.query(FieldRow):
            self._apply_typed(row)

    async def settled(self) -> str:
        await messages_handled(self.focused)
        self.read_inputs()
        return self.history.written()

    async def before_the_end(self) -> None:
        await self.settled()

    def on_descendant_focus(self) -> None:
        """Shows the help of the focused field. Removes it if no field has the focus."""
        self._show_help()

    @on(TextArea.Changed, f"#page-{TOML}")
    def _typed(self) -> None:
        self.read_inputs()
        self._study(PAUSE_SECONDS)

    @on(NameStrip.Chosen, "#pages")
    async def _page_chosen(self, event: NameStrip.Chosen) -> None:
        await self.go_to_page(event.name)

    async def go_to_page(self, name: str) -> None:
        await self.settled()
        if name not in (TOML, PLAN) and not self.history.readable:
            self.notify("The form needs valid TOML. Fix the error first.")
            name = TOML
        await self._rebuild(name)

    def _turn_to(self, name: str) -> None:
        self.query_one("#compose-pages", ContentSwitcher).current = f"page-{name}"
        for page in self.form_pages:  # pages of another kind have the same names, so the switcher would not update them
            page.display = page.id == f"page-{name}"
        self.query_one("#pages", NameStrip).show(name)
        if name not in (TOML, PLAN):
            self._last_form_page = name
        self.query_one("#plan-side").set_class(name == PLAN, "-not-beside")

    async def action_step(self, name: str) -> None:
        await self.go_to_page(name)
        if self.query_one("#pages", NameStrip).here == name:
            self._focus_page()

    async def action_open_all(self) -> None:
        for page in self.form_pages:
            if page.display:
                with self.app.batch_update():
                    await page.open_all()

    async def action_toml(self) -> None:
        here = self.query_one("#pages", NameStrip).here
        await self.go_to_page(self._last_form_page if here == TOML else TOML)
        if self.query_one("#pages", NameStrip).here == TOML:
            self.query_one(f"#page-{TOML}").focus()
        else:
            self._focus_page()

    def _focus_page(self) -> None:
        for page in self.form_pages:
            if page.display and (row := next(iter(page.query(FieldRow)), None)):
                row.take_focus()
            elif page.display and isinstance(page, PeoplePage):
                page.roll.focus()

    def action_leave_field(self) -> None:
        self.query_one("#pages").focus()

    async def action_next_fault(self) -> None:
        """Moves the cursor to the next field with an error."""
        for page in self.form_pages:
            for path in page.paths():
                if path in self._sentences:
                    await self.go_to_page(str(page.id).removeprefix("page-"))
                    await page.go_to(path)
                    return
        if self._examined.line is not None:
            await self.go_to_page(TOML)
            area = self.query_one(f"#page-{TOML}", TextArea)
            area.focus()
            area.move_cursor((self._examined.line - 1, 0))

    @on(NameStrip.Chosen, "#kinds")
    async def _kind_chosen(self, event: NameStrip.Chosen) -> None:
        await self.settled()
        if not self.history.readable:
            self.notify("The TOML has an error. Fix it first.")
            event.strip.show(self.history.kind or "")
            return
        self.history.switch(event.name)
        self._drop_plan()
        await self._rebuild(self._last_form_page)
        self._study()

    def load(self, text: str, source: str = "") -> None:
        """Loads a config as TOML. Stores the old text among the earlier drafts."""
        if self.is_mounted:
            self.read_inputs()
        self.history.load(text, source)
        if self.is_mounted:
            self.call_next(self._loaded)

    async def _loaded(self) -> None:
        self._drop_plan()
        await self._rebuild(WHAT if self.history.readable else TOML)
        self._study()

    async def action_undo(self) -> None:
        await self._step_history(self.history.undo, "Undone", "Nothing to undo.")

    async def action_redo(self) -> None:
        await self._step_history(self.history.redo, "Redone", "Nothing to redo.")

    async def _step_history(self, step: Callable[[], str | None], prefix: str, empty_text: str) -> None:
        await self.settled()
        if (change := step()) is None:
            self.notify(empty_text, timeout=2)
            return
        await self._rebuild(self.query_one("#pages", NameStrip).here)
        self._study()
        self.notify(one_line(f"{prefix}: {change}."), timeout=2)

    @property
    def history(self) -> DraftHistory:
        if self._history is None:
            draft = read_draft(self.tidepool.path)
            self._history = DraftHistory(draft or fresh())
            if is_custom(kind := kind_of(self._history.values)):
                with suppress(TidepoolError):  # without the class, the form has no fields for its settings
                    load_kind(str(kind)).load(self.folder, {})
        return self._history

    @property
    def folder(self) -> Path:
        """The folder of the draft's relative paths."""
        source = self.history.draft.source
        return Path(source).parent if source else Path.cwd()

    def show_source(self) -> None:
        source = self.history.draft.source
        self.query_one("#compose-source", Static).update(Content(one_line(Path(source).name) if source else "draft"))

    async def keep(self) -> None:
        if not self.history.touched:
            return
        try:
            await self.tidepool.file.do(keep_draft, self.tidepool.path, self.history.draft)
        except OSError as error:
            self.notify(f"The draft cannot be saved: {error.strerror}.", severity="warning")

    @property
    def people(self) -> PeoplePage | None:
        return next(iter(self.query(PeoplePage)), None)

    async def _read_library(self) -> None:
        page = self.people
        if page is None:
            return
        query: Any = list_agents if page.participants.name == "agents" else list_entities
        stored = await self.tidepool.file.look(query)
        page.show_library({one.id: one for one in stored})

    def _people_changed(self) -> None:
        if self.people is not None:
            self.people.show(self.history.values)
        self._study(PAUSE_SECONDS)

    @work(group="person")
    async def _write_person(self, title: str, record: Mapping[str, Any], place: int | None = None) -> None:
        """Opens a dialog for a participant. Errors are shown by the plan, as for any field."""
        assert self.people is not None
        participants = self.people.participants

        async def write(new: dict[str, Any]) -> str:
            if place is None:
                self._append(new)
            else:
                keys = [key for key in {**record, **new} if new.get(key, UNSET) != record.get(key, UNSET)]
                edits = [Put((participants.name, place, key), new.get(key, UNSET)) for key in keys]
                if edits:
                    self.history.edit(*edits)
                    self._people_changed()
            return title

        await self.app.push_screen_wait(FormDialog(title, participants.fields, record, lambda record: {}, write))

    def action_add_person(self) -> None:
        if (page := self.people) is not None:
            self._write_person(f"New {page.participants.noun}", newcomer(self.history.values, page.participants))

    @on(PeopleList.Opened)
    def action_edit_person(self) -> None:
        page = self.people
        if page is None or (person := page.roll.current) is None:
            return
        if person.place is None:
            self.notify("This is an item of the library. Press d to copy it into this study.")
            return
        record = value_at(self.history.values, (page.participants.name, person.place))
        if isinstance(record, Mapping):
            self._write_person(f"Edit {person.cells[0]}", record, person.place)

    def _append(self, record: Mapping[str, Any]) -> None:
        assert self.people is not None
        name = self.people.participants.name
        self.history.edit(Append((name,), record))
        self._people_changed()
        self.people.roll.go_to(len(value_at(self.history.values, (name,))) - 1)

    def action_copy_person(self) -> None:
        self.read_inputs()
        page = self.people
        if page is None or (person := page.roll.current) is None:
            return
        if person.place is None:
            if stored := page.library.get(person.id):
                self._leave_out(page, person)
                self._append(record_of(stored))
            return
        record = dict(value_at(self.history.values, (page.participants.name, person.place)))
        self._append({**record, "name": newcomer(self.history.values, page.participants)["name"]})

    def action_remove_person(self) -> None:
        self.read_inputs()
        page = self.people
        if page is None or (person := page.roll.current) is None:
            return
        if person.place is None:
            self._leave_out(page, person)
        else:
            self.history.edit(Drop((page.participants.name,), person.place))
        self._people_changed()
        self.notify(f"Removed {person.cells[0]}. Press ctrl+z to undo.", timeout=3)

    def _leave_out(self, page: PeoplePage, person: Person) -> None:
        self._name_ids(page, [one.id for one in page.roll.items if one.place is None and one is not person])

    def _name_ids(self, page: PeoplePage, ids: list[str]) -> None:
        self.history.edit(Put(page.participants.ids, ids or UNSET))

    @work(group="pick")
    async def action_pick_people(self) -> None:
        if (page := self.people) is None:
            return
        await self._read_library()
        if not page.library:
            self.notify(f"The library of this file has no {page.participants.name} yet. Press 5 to add some.")
            return
        choices = [
            Choice(one.id, one_line(one.name), one_line(_detail(record_of(one)))) for one in page.library.values()
        ]
        old_ids = [person.id for person in page.roll.items if person.place is None]
        dialog = PickDialog(f"Add {page.participants.name} from the library", choices, old_ids)
        ids = await self.app.push_screen_wait(dialog)
        if ids is not None and ids != old_ids:
            self.read_inputs()
            self._name_ids(page, ids)
            self._people_changed()
            page.roll.focus()

    @on(FieldRow.OfferRequested)
    @work(group="models", exclusive=True)
    async def _offer_models(self, event: FieldRow.OfferRequested) -> None:
        """Opens the list of models, with prices and addresses from the draft. The field gets the name after the dialog closes."""
        from tidepool.tui.app.dialogs.models import ModelDialog

        row = event.row
        rules = rules_in(await self.settled())
        current = row.value if isinstance(row.value, str) else ""
        path = row.field.path
        name = await self.app.push_screen_wait(ModelDialog(row.field.name, rules.providers, current))
        if name is not None and row.is_attached and row.field.path == path:
            row.apply_offer(name)
            row.take_focus()

    @screen_action
    async def action_open(self) -> None:
        await self.settled()
        batches = await self.tidepool.file.look(read_batches, self.tidepool.path)
        origin = await self.app.push_screen_wait(OpenDialog(self.history.draft, batches))
        if origin is None:
            return
        text = await self._text_of(origin)
        if origin.kind:
            await asyncio.to_thread(load_kind(origin.kind).load, Path.cwd(), {}, chosen=True)
        self.load(text, str(origin.path.resolve()) if origin.group == "file" and origin.path else "")

    async def _text_of(self, origin: DraftOrigin) -> str:
        """Returns the text of an origin. An example refers to files next to it, so its paths become absolute."""
        if origin.batch is not None:
            return await self.tidepool.file.look(config_of, origin.batch.number)
        if origin.path is None:
            return origin.text or ""
        text = read_text(origin.path)
        return anchored(text, origin.path.parent) if origin.group == "example" else text

    @work(group="files")
    async def action_save(self) -> None:
        text = await self.settled()
        path = await self.app.push_screen_wait(SaveDialog(self.history.draft.source or self._suggested()))
        if path is None:
            return
        try:
            await self.tidepool.file.do(Path(path).write_text, text, encoding="utf-8")
        except OSError as error:
            self.tidepool.show_error(f"Cannot write {path}: {error.strerror}. Choose another path.")
            return
        self.history.saved(path)
        self.show_source()
        await self.keep()
        self.notify(one_line(f"Saved as {path}."))

    def _suggested(self) -> str:
        name = value_at(self.history.values, ("batch", "name"))
        words = "".join(c if c.isalnum() else "-" for c in name.casefold()) if isinstance(name, str) else ""
        return f"{'-'.join(filter(None, words.split('-')))[:40] or 'study'}.toml"

    @work(group="run", exclusive=True)
    async def action_run(self) -> None:
        text = await self.settled()
        await self.keep()
        examined = await self.tidepool.examiner.examine(text, self.folder, self.tidepool.path)
        self.show_examined(examined)
        if not examined.ready:
            errors = len(examined.complaints)
            self.notify(f"{errors} field{'s need' if errors != 1 else ' needs'} fixing (F8)", severity="warning")
            await self.action_next_fault()
            return
        if not is_free(examined) and not await self._agreed(examined):
            return
        if is_custom(kind_of(self.history.values)) and not self.history.draft.source:
            self.tidepool.show_error("Save this study first (ctrl+s), in the folder of its Python file.")
            return
        try:
            path = await self.tidepool.file.do(
                config_to_run, text, self.history.draft.source, self.folder, launching.log_folder()
            )
        except OSError as error:
            self.tidepool.show_error(f"The study cannot be started: {error.strerror}. Check the folder for logs.")
            return
        self.tidepool.run_config(path, (examined.plan or {})["name"])

    async def _agreed(self, examined: Examined) -> bool:
        plan = examined.plan or {}
        expected = cost(examined)
        price = f"about {dollars(expected)}" if expected is not None else "an unknown price"
        cap = (
            f"The budget limits it to {dollars(plan['budget_usd'])}."
            if plan["budget_usd"]
            else "There is no budget limit."
        )
        question = f"This sends {plan['calls']:,} requests to {', '.join(examined.models)} for {price}. {cap}"
        question = "\n\n".join((*key_words(plan), question, *plan["transport"]["words"]))
        agreed = await self.app.push_screen_wait(Confirm(question, "Run", no="Cancel", title="Real models"))
        return bool(agreed)


def _detail(record: dict[str, Any]) -> str:
    words = [record.get("model"), record.get("secret"), record.get("description")]
    words += [f"{name} {value}" for name, value in dict(record.get("attributes", {})).items()]
    return ", ".join(str(word) for word in words if word)
