"""The people of a draft: agents or entities written in it, and those it takes from the library."""

from typing import Any

from textual import work

from tidepool.engine.config.sections import Batch
from tidepool.storage.library import list_agents, list_entities
from tidepool.tui.app.compose_model.desk import Desk
from tidepool.tui.app.compose_model.edits import Append, Drop, Put, value_at
from tidepool.tui.app.compose_model.fields import UNSET
from tidepool.tui.app.compose_model.people import newcomer, record_of
from tidepool.tui.app.dialogs.pick import PickDialog, choice_of
from tidepool.tui.app.screens.mode_screen import ModeScreen
from tidepool.tui.app.widgets.form.people import PeoplePage
from tidepool.tui.app.widgets.form.row import FieldRow

PAUSE_SECONDS = 0.2
"""in the typing, before the draft is kept and planned"""


class DraftPeople(ModeScreen):
    desk: Desk

    def take_in(self) -> None:
        """What was typed counts at once, while the news of it may still be on its way."""
        raise NotImplementedError

    def study_soon(self) -> None:
        """The draft has changed: keep it and plan it, once the typing pauses."""
        raise NotImplementedError

    @property
    def people(self) -> PeoplePage | None:
        return next(iter(self.query(PeoplePage)), None)

    async def _read_library(self) -> None:
        page = self.people
        if page is None:
            return
        query: Any = list_agents if page.folk.name == "agents" else list_entities
        stored = await self.tidepool.file.look(query)
        page.show_library({one.id: one for one in stored})

    def _people_changed(self) -> None:
        if self.people is not None:
            self.people.show(self.desk.values)
        self.study_soon()

    def action_add_person(self) -> None:
        self.take_in()
        if (page := self.people) is not None:
            self._add(page, newcomer(self.desk.values, page.folk))

    def _add(self, page: PeoplePage, record: dict[str, Any]) -> None:
        self.desk.edit(Append((page.folk.name,), record))
        self._people_changed()
        written = value_at(self.desk.values, (page.folk.name,))
        page.roll.go_to(len(written) - 1)
        page.show(self.desk.values)
        page.query_one(".person").query(FieldRow).first().take_focus()

    def action_copy_person(self) -> None:
        self.take_in()
        page = self.people
        if page is None or (person := page.current) is None:
            return
        if person.place is None:
            if stored := page._library.get(person.id):
                self._name_ids(page, [one.id for one in page.roll.people if one.place is None and one is not person])
                self._add(page, record_of(stored))
            return
        record = dict(value_at(self.desk.values, (page.folk.name, person.place)))
        self._add(page, {**record, "name": newcomer(self.desk.values, page.folk)["name"]})

    def action_remove_person(self) -> None:
        self.take_in()
        page = self.people
        if page is None or (person := page.current) is None:
            return
        if person.place is None:
            self._name_ids(page, [one.id for one in page.roll.people if one.place is None and one is not person])
        else:
            self.desk.edit(Drop((page.folk.name,), person.place))
        self._people_changed()
        self.notify(f"Removed {person.cells[0]}. ctrl+z brings it back.", markup=False, timeout=3)

    def _name_ids(self, page: PeoplePage, ids: list[str]) -> None:
        self.desk.edit(Put(page.folk.ids, ids or UNSET))

    @work(group="pick")
    async def action_pick_people(self) -> None:
        if (page := self.people) is None:
            return
        await self._read_library()
        if not page._library:
            self.notify(f"The library of this file has no {page.folk.name} yet: press 5 to fill it.", markup=False)
            return
        choices = [choice_of(one.id, one.name, _detail(record_of(one))) for one in page._library.values()]
        named = [person.id for person in page.roll.people if person.place is None]
        seed = value_at(self.desk.values, ("batch", "seed"))
        number = seed if isinstance(seed, int) else Batch.model_fields["seed"].default
        dialog = PickDialog(f"Take {page.folk.name} from the library", choices, named, number)
        ids = await self.app.push_screen_wait(dialog)
        if ids is not None and ids != named:
            self.take_in()
            self._name_ids(page, ids)
            self._people_changed()
            page.roll.focus()


def _detail(record: dict[str, Any]) -> str:
    words = [record.get("model"), record.get("secret"), record.get("description")]
    words += [f"{name} {value}" for name, value in dict(record.get("attributes", {})).items()]
    return ", ".join(str(word) for word in words if word)
