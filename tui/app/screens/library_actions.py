"""What can be done with the library: each action asks what it needs, writes in the file's own thread, and tells."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual import work

from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import TidepoolError
from tidepool.engine.library.contents import (
    LibraryAdditions,
    agent_from_champion,
    agent_from_entity,
    agent_of,
    agents_of_files,
    entities_of_files,
    entity_of,
    keep,
    secrets_for,
    stored_entity,
)
from tidepool.engine.library.entities import Entity
from tidepool.engine.library.entity_types import generate
from tidepool.storage import library
from tidepool.storage.library import StoredAgent, StoredEntity, StoredType
from tidepool.storage.queries.watching import Watched, all_watched
from tidepool.tui.app.background import run_in_thread
from tidepool.tui.app.compose.outline import AGENT_FIELDS, ENTITY_FIELDS
from tidepool.tui.app.dialogs.basic import Choice, ChooseDialog, Confirm
from tidepool.tui.app.dialogs.form import FormDialog, SavingDialog
from tidepool.tui.app.dialogs.library import (
    NEW_TYPE,
    GenerateDialog,
    ImportDialog,
    TryDialog,
    TypeDialog,
    Wish,
    type_text,
)
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.library_items import (
    SEVERAL_FIELDS,
    Item,
    KnownType,
    LibraryItems,
    agent_faults,
    agent_in,
    agents_of_entities,
    entity_faults,
    entity_in,
    several_faults,
)
from tidepool.tui.app.provider_view import rules_in_draft
from tidepool.tui.app.screens.base import ModeScreen
from tidepool.tui.drawing.text import ago, one_line

USUAL_MODEL = "simulated:guarded"


class LibraryActions(ModeScreen):
    library: LibraryItems
    shelf: str

    @property
    def item(self) -> Item | None:
        raise NotImplementedError

    @property
    def chosen(self) -> list[Item]:
        """Those that are marked, else the one under the cursor."""
        raise NotImplementedError

    def point_to(self, shelf: str, one: str) -> None:
        """Shows what was just made."""
        raise NotImplementedError

    async def _write(self, work: Callable[[], object]) -> None:
        await self.tidepool.file.do(work)
        self.nudge()

    async def _asked(self, dialog: SavingDialog, shelf: str) -> None:
        if one := await self.app.push_screen_wait(dialog):
            self.point_to(shelf, one)

    # -- making ------------------------------------------------------------------------------------------

    @work(group="act")
    async def action_generate(self) -> None:
        types = [one.type for item in self.library.types if isinstance(one := item.stored, KnownType) and one.type]
        here = self.item.id if self.item and self.shelf == "types" else ""
        await self._asked(GenerateDialog(types, here, self._generated), "entities")

    async def _generated(self, wish: Wish) -> str:
        entities = await self.tidepool.file.do(generate, wish.type, wish.count, wish.seed)
        if wish.writer:
            from tidepool.engine.studies.simulation.writing import write_texts

            texts = await run_in_thread(
                lambda: write_texts(wish.type, entities, wish.writer, wish.seed, with_backstory=wish.backstory)
            )
            entities = texts.entities
        haul = await self.tidepool.file.do(
            lambda: LibraryAdditions(tuple(stored_entity(entity, wish.type.name) for entity in entities))
        )
        await self._keep(haul)
        return haul.entities[0].id

    async def _keep(self, haul: LibraryAdditions) -> None:
        kept = await self.tidepool.file.do(keep, self.tidepool.path, haul)
        self.nudge()
        added = [f"{kept.added:,} added"] if kept.added or not kept.types else []
        known = [f"{kept.known:,} were there already"] if kept.known else []
        types = [f"type {one_line(', '.join(kept.types))}"] if kept.types else []
        self.notify(", ".join([*added, *types, *known]).capitalize() + ".", markup=False)

    def action_new(self) -> None:
        match self.shelf:
            case "types":
                self._write_type("A new entity type", NEW_TYPE, None)
            case "agents":
                self._write_agent("A new agent", {"model": USUAL_MODEL}, None)
            case _:
                self._write_entity("A new entity", {}, None)

    def action_edit(self) -> None:
        stored = self.item.stored if self.item else None
        if isinstance(stored, StoredEntity) and not stored.damaged:
            record = {"name": stored.name, "description": stored.description, "attributes": dict(stored.attributes)}
            self._write_entity(f"Edit {one_line(stored.name)}", record, stored)
        elif isinstance(stored, StoredAgent) and not stored.damaged:
            self._write_agent(f"Edit {one_line(stored.name)}", stored.definition, stored)
        elif isinstance(stored, KnownType):
            note = "" if stored.own else "A built-in type: what you save is your own, and wins while it is there."
            self._write_type(f"Edit {one_line(stored.name)}", type_text(stored.definition), stored, note)

    @work(group="act")
    async def _write_entity(self, title: str, record: Mapping[str, Any], old: StoredEntity | None) -> None:
        async def write(said: dict[str, Any]) -> str:
            new = entity_in(said, old.type if old else None)
            if old is None:
                await self._keep(LibraryAdditions((new,)))
            else:
                await self._write(partial(library.replace_entity, self.tidepool.path, old.id, new))
                self._tell_edit(old.id, new.id)
            return new.id

        await self._asked(FormDialog(title, ENTITY_FIELDS, record, entity_faults, write), "entities")

    @work(group="act")
    async def _write_agent(
        self, title: str, record: Mapping[str, Any], old: StoredAgent | None, note: str = ""
    ) -> None:
        async def write(said: dict[str, Any]) -> str:
            new = agent_in(said)
            if old is None:
                await self._keep(LibraryAdditions(agents=(new,)))
            else:
                await self._write(partial(library.replace_agent, self.tidepool.path, old.id, new))
                self._tell_edit(old.id, new.id)
            return new.id

        await self._asked(FormDialog(title, AGENT_FIELDS, record, agent_faults, write, note=note), "agents")

    @work(group="act")
    async def _write_type(self, title: str, text: str, old: KnownType | None, note: str = "") -> None:
        async def write(new: StoredType) -> str:
            if old is not None and old.own:
                await self._write(partial(library.replace_type, self.tidepool.path, old.name, new))
            else:
                await self._write(partial(library.put_types, self.tidepool.path, [new]))
            return new.name

        await self._asked(TypeDialog(title, text, write, note=note), "types")

    def _tell_edit(self, old: str, new: str) -> None:
        if old != new:
            self.notify(f"Saved as {one_line(new)}: another content has another id.", markup=False)

    # -- bringing in and taking away ---------------------------------------------------------------------

    @work(group="act")
    async def action_bring_in(self) -> None:
        brought = ""

        async def bring(holds: str, path: Path) -> str:
            nonlocal brought
            read = agents_of_files if holds == "agents" else entities_of_files
            haul = await self.tidepool.file.do(lambda: read([path.expanduser()]))
            await self._keep(haul)
            brought, first = next(
                (shelf, one[0])
                for shelf, one in (("entities", haul.entities), ("types", haul.types), ("agents", haul.agents))
                if one
            )
            return first.name if isinstance(first, StoredType) else first.id

        if one := await self.app.push_screen_wait(ImportDialog(self.shelf, bring)):
            self.point_to(brought, one)

    @work(group="act")
    async def action_delete(self) -> None:
        items = self.chosen
        if not items:
            return
        noun = {"entities": "entities", "types": "types", "agents": "agents"}[self.shelf]
        what = one_line(items[0].name) if len(items) == 1 else f"these {len(items):,} {noun}"
        question = f"Take {what} out of the library? Batches keep what they used; this cannot be undone."
        if not await self.app.push_screen_wait(Confirm(question, "Delete", no="Keep")):
            return
        try:
            await self._write(partial(_remove, self.tidepool.path, self.shelf, [item.id for item in items]))
        except TidepoolError as error:
            self.tidepool.tell(error)
            self.nudge()

    # -- agents ------------------------------------------------------------------------------------------

    @work(group="act")
    async def action_make_agents(self) -> None:
        stored = [one.stored for one in self.chosen if isinstance(one.stored, StoredEntity)]
        try:
            entities = await self.tidepool.file.do(lambda: [entity_of(one) for one in stored])
        except TidepoolError as error:
            self.tidepool.tell(error)
            return
        if len(entities) == 1:
            agent = agent_from_entity(entities[0], USUAL_MODEL, secrets_for([entities[0].name], 42)[0])
            note = "Who it is stands in its instructions. Choose a model; the secret is a suggestion."
            self._write_agent(f"An agent of {one_line(agent.name)}", agent.model_dump(mode="json"), None, note)
        elif entities:
            await self._make_several(entities)

    async def _make_several(self, entities: Sequence[Entity]) -> None:
        async def write(said: dict[str, Any]) -> str:
            haul = await self.tidepool.file.do(agents_of_entities, entities, said)
            await self._keep(haul)
            return haul.agents[0].id

        record = {"model": USUAL_MODEL, "memory": "short", "seed": 42}
        note = "Who each is stands in its instructions, and each gets a code word as its secret."
        title = f"Agents of {len(entities):,} entities"
        await self._asked(FormDialog(title, SEVERAL_FIELDS, record, several_faults, write, note=note), "agents")

    @work(group="act")
    async def action_champion(self) -> None:
        from tidepool.engine.studies.evolution.statistics import champion_prompt

        batches = [
            b for b in await self.tidepool.file.look(all_watched, self.tidepool.path) if screens_of(b.kind).family
        ]
        if not batches:
            self.tidepool.tell("This file has no evolution yet, so there is no champion. Compose one first (2).")
            return
        one = await self.app.push_screen_wait(ChooseDialog("Whose champion?", list(map(_choice, batches))))
        if one is None:
            return
        try:
            prompt = await self.tidepool.file.dig(champion_prompt, one)
        except TidepoolError as error:
            self.tidepool.tell(error)
            return
        agent = agent_from_champion(prompt, "Champion", USUAL_MODEL, secrets_for(["Champion"], 42)[0])
        note = "The prompt that won stands in its instructions. Choose a model; the secret is a suggestion."
        self._write_agent("An agent of a champion", agent.model_dump(mode="json"), None, note)

    def action_try(self) -> None:
        stored = self.item.stored if self.item else None
        if not isinstance(stored, StoredAgent):
            return
        try:
            agent: Agent = agent_of(stored)
        except TidepoolError as error:
            self.tidepool.tell(error)
            return
        self.app.push_screen(TryDialog(agent, rules_in_draft(self.tidepool.path).providers))


def _remove(path: Path, shelf: str, ids: Sequence[str]) -> None:
    if shelf == "types":
        for name in ids:
            library.remove_type(path, name)
    else:
        library.remove_exactly(path, "entity" if shelf == "entities" else "agent", ids)


def _choice(batch: Watched) -> Choice:
    return Choice(batch.id, batch.name, f"{batch.status} · {ago(batch.created_at)} ago · {batch.id}")
