"""The Library screen: search, create, edit, import and generate entities, entity types and agents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual import on, work
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from tidepool.engine.config.entity_types import generate
from tidepool.engine.config.library import (
    LibraryAdditions,
    agent_from_entity,
    agents_of_files,
    entities_of_files,
    entity_of,
    secrets_for,
    store_additions,
    stored_entity,
)
from tidepool.storage import library
from tidepool.storage.library import Stamp, StoredAgent, StoredEntity, StoredType, stamp
from tidepool.storage.queries.watching import changes
from tidepool.tui.app.compose.fields import Field
from tidepool.tui.app.compose.outline import AGENT_FIELDS, ENTITY_FIELDS
from tidepool.tui.app.dialogs.basic import Confirm
from tidepool.tui.app.dialogs.form import Check, FormDialog, SavingDialog
from tidepool.tui.app.dialogs.library import GenerateDialog, ImportDialog, Wish
from tidepool.tui.app.library_items import (
    SHELVES,
    Item,
    KnownType,
    LibraryItems,
    agent_faults,
    agent_in,
    details,
    entity_faults,
    entity_in,
    matching,
    read_library,
)
from tidepool.tui.app.screens.base import ModeScreen, screen_action
from tidepool.tui.app.widgets.frame import NameStrip, TextLine
from tidepool.tui.app.widgets.rows import Column, ReadingPane, TableRows
from tidepool.tui.drawing.text import one_line

COLUMNS = {
    "entities": ("name", "type", "description"),
    "types": ("type", "origin", "description"),
    "agents": ("name", "model", "secret and instructions"),
}


class ShelfList(TableRows[Item]):
    BINDINGS = [
        Binding("enter", "open", "Read", id="library.read", tooltip="open the text; escape returns", show=False),
        Binding("space", "screen.mark", "Mark", id="library.mark", tooltip="mark several to delete", show=False),
        Binding("right,l", "screen.shelf(1)", "Next list", show=False),
        Binding("left,h", "screen.shelf(-1)", "Previous list", show=False),
        Binding("ctrl+a", "screen.mark_all", "Mark all", id="library.mark_all", show=False),
    ]
    mark = "✓ "
    shelf = ""
    empty = "loading…"

    def show_shelf(self, shelf: str, items: Sequence[Item]) -> None:
        if shelf != self.shelf:
            self.shelf, self.items = shelf, []
            self.marks.clear()
            self.cursor = 0
            styles = (("strong", 3), ("dim", 2), ("dim", 5))
            self.COLUMNS = [
                Column(title, style=style, share=share)
                for title, (style, share) in zip(COLUMNS[shelf], styles, strict=True)
            ]
        self.show(items)

    def cells(self, item: Item) -> Sequence[str]:
        return item.cells


FIRST_STEPS = {
    "entities": "No entities yet. Press r to generate, a to add, i to import.",
    "agents": "No agents yet. Press a to add, i to import.",
}
"""hints for an empty list"""

USUAL_MODEL = "simulated:guarded"
RECORDS: Mapping[str, tuple[Sequence[Field], Check, Callable[..., Any]]] = {
    "entities": (ENTITY_FIELDS, entity_faults, entity_in),
    "agents": (AGENT_FIELDS, agent_faults, agent_in),
}
"""list → the fields of its form, the check of a record, and the conversion to a stored record"""


class LibraryScreen(ModeScreen):
    MODE = "library"
    PERIOD = 1.0
    CSS_PATH = ["compose.tcss", "library.tcss"]
    HELP = """The library of this file has three lists. Entities are the personas of simulations. Entity types generate any
    number of entities from a seed. Agents play the secret game. Tab goes to the next list, / searches as you type, enter
    opens the text on the right, and escape returns. Space marks several items to delete. Each batch stores a copy of what it
    uses, so changes to the library do not affect batches. An edited entity or agent gets a new id, because ids depend on the
    content."""
    BINDINGS = [
        Binding("tab", "shelf(1)", "Next list", tooltip="entities, types, agents", show=False),
        Binding("shift+tab", "shelf(-1)", "Previous list", show=False),
        Binding("slash", "search", "Search", key_display="/", tooltip="search as you type", show=False, priority=True),
        Binding("r", "generate", "Generate", tooltip="generate entities of a type from a seed"),
        Binding("a,n", "new", "New", key_display="a"),
        Binding("e", "edit", "Edit"),
        Binding("x,delete", "delete", "Delete", key_display="x", tooltip="asks first"),
        Binding("i", "bring_in", "Import", tooltip="a JSON, TOML or CSV file"),
        Binding("m", "make_agent", "Make agent", tooltip="create an agent from this entity"),
        Binding("escape", "back", "Back to list", show=False),
    ]
    AUTO_FOCUS = "ShelfList"

    def __init__(self) -> None:
        super().__init__()
        self.library = LibraryItems()
        self.shelf = "entities"
        self._change_count = -1
        self._stamp: Stamp | None = None
        self._target: str | None = None
        """the id of a new item, until it is visible"""

    def compose_body(self) -> Iterable[Widget]:
        with Horizontal(id="library-head"):
            yield NameStrip(SHELVES, self.shelf, title="tab", id="shelves")
            yield TextLine(placeholder="/ search", id="words", compact=True)
        with Horizontal(id="library-main"):
            yield ShelfList(id="shelf")
            yield ReadingPane(id="details")

    @property
    def roll(self) -> ShelfList:
        return self.query_one(ShelfList)

    @property
    def item(self) -> Item | None:
        return self.roll.current if self.is_mounted else None

    @property
    def chosen(self) -> list[Item]:
        return self.roll.marked or ([self.item] if self.item else [])

    async def look(self) -> None:
        """Reads the library again only if it has changed itself, because a running batch changes the file all the time."""
        change_count = await self.tidepool.file.look(changes)
        if change_count == self._change_count:
            return
        self._change_count = change_count
        now = await self.tidepool.file.look(stamp)
        if now == self._stamp:
            return
        self._stamp = now
        self.library = await self.tidepool.file.dig(read_library)
        counts = {name: f"{title} {len(self.library.shelf(name)):,}" for name, title in SHELVES.items()}
        await self.query_one("#shelves", NameStrip).set_names(counts, self.shelf)
        self._show()

    @on(Input.Changed, "#words")
    def _show(self) -> None:
        items = self.library.shelf(self.shelf)
        words = self.query_one("#words", Input).value
        roll = self.roll
        if self._target is not None and words and not any(one.id == self._target for one in matching(items, words)):
            self.query_one("#words", Input).value = words = ""
        if self._stamp is not None:
            roll.empty = "no matches" if items else FIRST_STEPS.get(self.shelf, "")
        roll.show_shelf(self.shelf, matching(items, words))
        if self._target is not None:
            roll.go_to_item(self._target)
            if any(item.id == self._target for item in items):
                self._target = None
        self._show_item()

    @on(ShelfList.Highlighted)
    def _show_item(self) -> None:
        item = self.item
        self.query_one("#details", ReadingPane).show(details(item) if item else [])
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        stored = self.item.stored if self.item else None
        match action:
            case "edit":
                return isinstance(stored, StoredEntity | StoredAgent) and not stored.damaged
            case "new":
                return self.shelf != "types"
            case "delete":
                return stored is not None and not (isinstance(stored, KnownType) and not stored.own)
            case "make_agent":
                return isinstance(stored, StoredEntity)
            case "generate":
                return self.shelf != "agents"
        return super().check_action(action, parameters)

    def point_to(self, shelf: str, one: str) -> None:
        self._target = one
        self._turn_to(shelf)
        self.nudge()

    def _turn_to(self, shelf: str) -> None:
        if shelf != self.shelf:
            self.shelf = shelf
            self.query_one("#words", Input).value = ""
        self.query_one("#shelves", NameStrip).show(shelf)
        self._show()
        self.roll.focus()

    @on(NameStrip.Chosen)
    def _strip_chosen(self, event: NameStrip.Chosen) -> None:
        self._turn_to(event.name)

    def action_shelf(self, by: int) -> None:
        names = list(SHELVES)
        self._turn_to(names[(names.index(self.shelf) + by) % len(names)])

    @on(ShelfList.Opened)
    def _opened(self) -> None:
        self.query_one("#details", ReadingPane).focus()

    def action_search(self) -> None:
        self.set_focus(self.query_one("#words", Input))

    @on(Input.Submitted, "#words")
    def _search_done(self) -> None:
        self.roll.focus()

    def action_back(self) -> None:
        """Leaves the text, then clears the search, then the marks."""
        field = self.query_one("#words", Input)
        if self.roll.has_focus and self.roll.marked and not field.value:
            self.roll.marks.clear()
            self.roll.refresh()
        elif not self.query_one("#details", ReadingPane).has_focus:
            field.value = ""
        self.roll.focus()

    def action_mark(self) -> None:
        self.roll.mark_and_step()

    def action_mark_all(self) -> None:
        self.roll.toggle_all()
        self.notify(f"{len(self.roll.marked):,} marked.", timeout=2)

    async def _write(self, work: Callable[[], object]) -> None:
        try:
            await self.tidepool.file.do(work)
        finally:
            self.nudge()

    async def _open_dialog(self, dialog: SavingDialog, shelf: str) -> None:
        if one := await self.app.push_screen_wait(dialog):
            self.point_to(shelf, one)

    @work(group="act")
    async def action_generate(self) -> None:
        types = [one.type for item in self.library.types if isinstance(one := item.stored, KnownType) and one.type]
        here = self.item.id if self.item and self.shelf == "types" else ""
        await self._open_dialog(GenerateDialog(types, here, self._generated), "entities")

    async def _generated(self, wish: Wish) -> str:
        def make() -> LibraryAdditions:
            entities = generate(wish.type, wish.count, wish.seed)
            return LibraryAdditions(tuple(stored_entity(entity, wish.type.name) for entity in entities))

        haul = await self.tidepool.file.do(make)
        await self._keep(haul)
        return haul.entities[0].id

    async def _keep(self, haul: LibraryAdditions) -> None:
        result = await self.tidepool.file.do(store_additions, self.tidepool.path, haul)
        self.nudge()
        added = [f"{result.added:,} added"] if result.added or not result.types else []
        known = [f"{result.known:,} already in the library"] if result.known else []
        types = [f"added the type {one_line(', '.join(result.types))}"] if result.types else []
        self.notify(", ".join([*added, *types, *known]).capitalize() + ".")

    def action_new(self) -> None:
        if self.shelf == "agents":
            self._write_record("agents", "New agent", {"model": USUAL_MODEL})
        else:
            self._write_record("entities", "New entity", {})

    def action_edit(self) -> None:
        stored = self.item.stored if self.item else None
        if isinstance(stored, StoredEntity):
            record = {"name": stored.name, "description": stored.description, "attributes": dict(stored.attributes)}
            self._write_record("entities", f"Edit {one_line(stored.name)}", record, stored)
        elif isinstance(stored, StoredAgent):
            self._write_record("agents", f"Edit {one_line(stored.name)}", stored.definition, stored)

    @work(group="act")
    async def _write_record(
        self,
        shelf: str,
        title: str,
        record: Mapping[str, Any],
        old: StoredEntity | StoredAgent | None = None,
        note: str = "",
    ) -> None:
        fields, faults, stored_as = RECORDS[shelf]

        async def write(content: dict[str, Any]) -> str:
            new = stored_as(content, old)
            if old is None:
                await self._keep(LibraryAdditions(**{shelf: (new,)}))
            else:
                await self._write(partial(library.replace, self.tidepool.path, old.id, new))
            return str(new.id)

        await self._open_dialog(FormDialog(title, fields, record, faults, write, note=note), shelf)

    @work(group="act")
    async def action_bring_in(self) -> None:
        added_to = ""

        async def bring(contents: str, path: Path) -> str:
            nonlocal added_to
            read_files = agents_of_files if contents == "agents" else entities_of_files
            haul = await self.tidepool.file.do(lambda: read_files([path.expanduser()]))
            await self._keep(haul)
            added_to, first = next(
                (shelf, one[0])
                for shelf, one in (("entities", haul.entities), ("types", haul.types), ("agents", haul.agents))
                if one
            )
            return first.name if isinstance(first, StoredType) else first.id

        if one := await self.app.push_screen_wait(ImportDialog(self.shelf, bring)):
            self.point_to(added_to, one)

    @screen_action
    async def action_delete(self) -> None:
        items = self.chosen
        if not items:
            return
        subject = one_line(items[0].name) if len(items) == 1 else f"these {len(items):,} {self.shelf}"
        question = f"Delete {subject} from the library? Existing batches do not change. You cannot undo this."
        if await self.app.push_screen_wait(Confirm(question, "Delete", no="Keep")):
            await self._write(partial(_remove, self.tidepool.path, self.shelf, [item.id for item in items]))

    @screen_action
    async def action_make_agent(self) -> None:
        if self.item and isinstance(stored := self.item.stored, StoredEntity):
            entity = entity_of(stored)
            agent = agent_from_entity(entity, USUAL_MODEL, secrets_for([entity.name], 42)[0])
            note = "The instructions describe the entity. Choose a model. The secret is a suggestion."
            title = f"New agent from {one_line(agent.name)}"
            self._write_record("agents", title, agent.model_dump(mode="json"), note=note)


def _remove(path: Path, shelf: str, ids: Sequence[str]) -> None:
    if shelf == "types":
        for name in ids:
            library.remove_type(path, name)
    else:
        library.remove(path, "entity" if shelf == "entities" else "agent", ids)
