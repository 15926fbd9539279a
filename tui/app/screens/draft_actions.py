"""What can be done with a draft: edit its people, choose models, open, save and run it."""

from pathlib import Path
from typing import Any

from textual import on, work
from textual.content import Content
from textual.widgets import Static

from tidepool.engine.config.sections import Batch
from tidepool.engine.config.toml_files import read_text
from tidepool.engine.errors import TidepoolError
from tidepool.storage.library import list_agents, list_entities
from tidepool.storage.queries.watching import all_watched
from tidepool.tui.app import launching
from tidepool.tui.app.compose.draft import DraftHistory, anchored, config_to_run, fresh, keep_draft, read_draft
from tidepool.tui.app.compose.edits import Append, Drop, Put, value_at
from tidepool.tui.app.compose.examination import Examined
from tidepool.tui.app.compose.fields import UNSET
from tidepool.tui.app.compose.outline import newcomer, record_of
from tidepool.tui.app.compose.plan_text import cost, is_free, key_words
from tidepool.tui.app.dialogs.basic import Confirm, choice_of
from tidepool.tui.app.dialogs.draft import DraftOrigin, OpenDialog, PickDialog, SaveDialog
from tidepool.tui.app.provider_view import rules_in
from tidepool.tui.app.screens.base import ModeScreen
from tidepool.tui.app.widgets.form_fields import FieldRow
from tidepool.tui.app.widgets.form_pages import PeoplePage
from tidepool.tui.drawing.text import dollars, one_line

PAUSE_SECONDS = 0.2
"""in the typing, before the draft is kept and planned"""


class DraftActions(ModeScreen):
    def __init__(self) -> None:
        super().__init__()
        self._history: DraftHistory | None = None

    @property
    def history(self) -> DraftHistory:
        if self._history is None:
            kept = read_draft(self.tidepool.path)
            self._history = DraftHistory(kept or fresh())
        return self._history

    @property
    def folder(self) -> Path:
        """Where relative paths of the draft start."""
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
            self.notify(f"The draft cannot be kept: {error.strerror}.", severity="warning", markup=False)

    # -- what the screen does ----------------------------------------------------------------------------

    def load(self, text: str, source: str = "") -> None:
        """Takes a config as TOML, of another batch or a file."""

    def take_in(self) -> None:
        """What was typed counts at once, while the news of it may still be on its way."""

    async def settled(self) -> str:
        """The text, with every key that was pressed so far."""
        raise NotImplementedError

    def study_soon(self) -> None:
        """The draft has changed: keep it and plan it, once the typing pauses."""

    def show_examined(self, examined: Examined) -> None:
        """Shows the plan, or the faults beside their fields."""

    async def action_next_fault(self) -> None:
        """Puts the cursor into the next field that is wrong."""

    # -- people and models --------------------------------------------------------------------------------

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
        self.study_soon()

    def action_add_person(self) -> None:
        self.take_in()
        if (page := self.people) is not None:
            self._add(page, newcomer(self.history.values, page.participants))

    def _add(self, page: PeoplePage, record: dict[str, Any]) -> None:
        self.history.edit(Append((page.participants.name,), record))
        self._people_changed()
        written = value_at(self.history.values, (page.participants.name,))
        page.roll.go_to(len(written) - 1)
        page.show(self.history.values)
        page.query_one(".person").query(FieldRow).first().take_focus()

    def action_copy_person(self) -> None:
        self.take_in()
        page = self.people
        if page is None or (person := page.current) is None:
            return
        if person.place is None:
            if stored := page._library.get(person.id):
                self._name_ids(page, [one.id for one in page.roll.items if one.place is None and one is not person])
                self._add(page, record_of(stored))
            return
        record = dict(value_at(self.history.values, (page.participants.name, person.place)))
        self._add(page, {**record, "name": newcomer(self.history.values, page.participants)["name"]})

    def action_remove_person(self) -> None:
        self.take_in()
        page = self.people
        if page is None or (person := page.current) is None:
            return
        if person.place is None:
            self._name_ids(page, [one.id for one in page.roll.items if one.place is None and one is not person])
        else:
            self.history.edit(Drop((page.participants.name,), person.place))
        self._people_changed()
        self.notify(f"Removed {person.cells[0]}. ctrl+z brings it back.", markup=False, timeout=3)

    def _name_ids(self, page: PeoplePage, ids: list[str]) -> None:
        self.history.edit(Put(page.participants.ids, ids or UNSET))

    @work(group="pick")
    async def action_pick_people(self) -> None:
        if (page := self.people) is None:
            return
        await self._read_library()
        if not page._library:
            self.notify(
                f"The library of this file has no {page.participants.name} yet: press 5 to fill it.", markup=False
            )
            return
        choices = [choice_of(one.id, one.name, _detail(record_of(one))) for one in page._library.values()]
        named = [person.id for person in page.roll.items if person.place is None]
        seed = value_at(self.history.values, ("batch", "seed"))
        number = seed if isinstance(seed, int) else Batch.model_fields["seed"].default
        dialog = PickDialog(f"Take {page.participants.name} from the library", choices, named, number)
        ids = await self.app.push_screen_wait(dialog)
        if ids is not None and ids != named:
            self.take_in()
            self._name_ids(page, ids)
            self._people_changed()
            page.roll.focus()

    @on(FieldRow.OfferWanted)
    def _offer_wanted(self, event: FieldRow.OfferWanted) -> None:
        self._offer_models(event.row)

    @work(group="models", exclusive=True)
    async def _offer_models(self, row: FieldRow) -> None:
        """Prices and addresses are those of the draft. Its field gets the name when the dialog is gone."""
        from tidepool.tui.app.dialogs.models import ModelDialog

        rules = rules_in(await self.settled())
        chosen = row.value if isinstance(row.value, str) else ""
        path = row.field.path
        name = await self.app.push_screen_wait(ModelDialog(row.field.name, rules.providers, chosen))
        if name is not None and row.is_attached and row.field.path == path:
            row.take_offer(name)
            row.take_focus()

    # -- files and running --------------------------------------------------------------------------------

    @work(group="files")
    async def action_open(self) -> None:
        await self.settled()
        batches = await self.tidepool.file.look(all_watched, self.tidepool.path)
        origin = await self.app.push_screen_wait(OpenDialog(self.history.draft, batches))
        if origin is None:
            return
        try:
            text = await self._text_of(origin)
        except TidepoolError as error:
            self.tidepool.tell(error)
            return
        self.load(text, str(origin.path.resolve()) if origin.group == "file" and origin.path else "")

    async def _text_of(self, origin: DraftOrigin) -> str:
        """An example names the files beside it, which stay where they are."""
        from tidepool.tui.drawing.configs import config_of

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
            self.tidepool.tell(f"{path} cannot be written: {error.strerror}. Choose another place.")
            return
        self.history.saved(path)
        self.show_source()
        await self.keep()
        self.notify(one_line(f"Saved as {path}."), markup=False)

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
            self.notify("Not ready yet: see what is marked.", severity="warning", markup=False)
            await self.action_next_fault()
            return
        if not is_free(examined) and not await self._agreed(examined):
            return
        try:
            path = await self.tidepool.file.do(
                config_to_run, text, self.history.draft.source, self.folder, launching.log_folder()
            )
        except OSError as error:
            self.tidepool.tell(f"The study cannot be handed to its process: {error.strerror}.")
            return
        self.tidepool.run_config(path, (examined.plan or {})["name"])

    async def _agreed(self, examined: Examined) -> bool:
        plan = examined.plan or {}
        expected = cost(examined)
        price = f"about {dollars(expected)}" if expected is not None else "a price that is not known"
        cap = f"The budget caps it at {dollars(plan['budget_usd'])}." if plan["budget_usd"] else "No budget caps it."
        question = f"This asks {', '.join(examined.models)}: {plan['calls']:,} calls for {price}. {cap}"
        question = "\n\n".join((*key_words(plan), question, *plan["transport"]["words"]))
        agreed = await self.app.push_screen_wait(Confirm(question, "Run", no="Not yet", title="Real models"))
        return bool(agreed)


def _detail(record: dict[str, Any]) -> str:
    words = [record.get("model"), record.get("secret"), record.get("description")]
    words += [f"{name} {value}" for name, value in dict(record.get("attributes", {})).items()]
    return ", ".join(str(word) for word in words if word)
