"""An entity type, written as TOML, with what it would generate below."""

import tomllib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import tomlkit
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static, TextArea

from tidepool.engine.config.toml_text import FORM, find_slip
from tidepool.engine.errors import UsageError
from tidepool.engine.library.entity_types import EntityType, entity_type_from
from tidepool.storage.library import StoredType
from tidepool.tui.app.compose_model.visible import restored, visible
from tidepool.tui.app.dialogs.form import KeepingDialog
from tidepool.tui.app.library_view.details import examples
from tidepool.tui.app.widgets.reading import ReadingPane

NEW_TYPE = """name = "villager"
description = "Somebody of the village"
portrait = "{name}, {age} years old, {trade}."
first_names = ["Ada", "Bela", "Cleo", "Dov"]
last_names = ["Marsh", "Stone", "Birch"]

[[dimensions]]
name = "age"
kind = "int"                  # int, float, boolean, categorical, text
range = [18, 90]
spread = "skewed"             # uniform, normal, skewed

[[dimensions]]
name = "trade"
kind = "categorical"
options = { baker = 3, smith = 2, miller = 1 }
"""

TYPE_FORM = 'A type is TOML: keys such as name = "villager", then [[dimensions]] with their own.'


def type_text(definition: Mapping[str, Any]) -> str:
    """A type as one would write it: each dimension a table of its own."""
    document = tomlkit.document()
    for key, value in definition.items():
        if value is not None and key != "dimensions":
            document.add(key, tomlkit.item(value))
    dimensions = tomlkit.aot()
    for record in definition.get("dimensions") or ():
        table = tomlkit.table()
        for key, value in dict(record).items():
            if value is not None:
                table.add(key, _inline(value))
        dimensions.append(table)
    document.add("dimensions", dimensions)
    return tomlkit.dumps(document)


def _inline(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    table.update(value)
    return table


def read_type(text: str) -> tuple[StoredType, EntityType]:
    """Raises UsageError, in words."""
    try:
        record = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        line, words = find_slip(text, str(error))
        raise UsageError(f"Line {line}: {words.replace(FORM, TYPE_FORM)}") from None
    kind = entity_type_from(record, "the type")
    return StoredType(kind.name, record), kind


class TypeDialog(KeepingDialog):
    AUTO_FOCUS = "TextArea"

    def __init__(self, title: str, text: str, keep: Callable[[StoredType], Awaitable[str]], *, note: str = "") -> None:
        super().__init__()
        self._title, self._note = title, note
        self._before = text
        self._keep = keep

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -form -type") as box:
            box.border_title = Content(self._title)
            if self._note:
                yield Static(Content(self._note), classes="dialog-text")
            yield TextArea.code_editor(
                visible(self._before), language="toml", theme="css", soft_wrap=True, tab_behavior="focus"
            )
            yield Static("", id="fault", classes="fault")
            yield ReadingPane(id="examples")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Save (ctrl+s)", id="keep", variant="primary")
                yield Button("Cancel", id="cancel")

    @property
    def text(self) -> str:
        return restored(self.query_one(TextArea).text)

    def changed(self) -> bool:
        return self.text != self._before

    def on_mount(self) -> None:
        self._look()

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self._look()

    def _look(self) -> StoredType | None:
        """What the type would generate, or what is wrong with it."""
        try:
            stored, kind = read_type(self.text)
        except UsageError as error:
            self.fault(str(error))
            return None
        self.fault("")
        self.query_one(ReadingPane).show(examples(kind, 42, 2))
        return stored

    async def kept(self) -> str | None:
        stored = self._look()
        return None if stored is None else await self._keep(stored)
