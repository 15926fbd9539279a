"""The draft of a study, its undo history, and the file that stores it.

The draft is stored in a file next to the study file while you type. Quitting, a crash or a loss of power costs at most a
second of work. The file also stores earlier texts that were replaced.

A draft may arrive together with another person's study file. The trust record therefore remembers drafts that were written
here. Any other draft loses its servers, keys, cluster and code (`trust.file_values`), and the name of its source file.
"""

import json
import os
import tempfile
import time
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.trust.foreign_keys import foreign_files, foreign_keys
from tidepool.engine.trust.record import trust_record
from tidepool.storage.file import replace_file
from tidepool.tui.app.compose.edits import Edit, Put, apply, edited, value_at, values_of
from tidepool.tui.app.compose.fields import UNSET
from tidepool.tui.app.kind_screens import installed, template

MOST_EARLIER = 20
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    source: str = ""
    """the file that it was loaded from or saved to"""
    earlier: tuple[str, ...] = ()
    """replaced texts, newest first"""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.earlier)


def fresh() -> Draft:
    return Draft(template("secret_game"))


def kind_of(values: Mapping[str, Any]) -> str | None:
    kind = value_at(values, ("batch", "kind"))
    return kind if isinstance(kind, str) and installed(kind) else None


def replaced(draft: Draft, text: str, source: str = "") -> Draft:
    """Returns a draft with another text. Stores the old text among the earlier ones, unless it is an unchanged template."""
    if text == draft.text:
        return replace(draft, source=source)
    plain = {template(kind) for kind in KINDS if installed(kind)}
    earlier_texts = [old for old in draft.texts if old.strip() and old not in plain and old != text]
    return Draft(text, source, tuple(dict.fromkeys(earlier_texts))[:MOST_EARLIER])


def draft_path(database: Path) -> Path:
    return database.with_name(f"{database.name}.draft")


def read_draft(database: Path) -> Draft | None:
    """Reads the stored draft. Returns None if it does not exist or cannot be read."""
    path = draft_path(database)
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        file_text = path.read_text(encoding="utf-8")
        content = json.loads(file_text)
        earlier = tuple(str(text) for text in list(content.get("earlier", [])))
        draft = Draft(str(content["text"]), str(content.get("source", "")), earlier)
        return draft if trust_record().knows_draft(file_text) else _foreign(draft)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def keep_draft(database: Path, draft: Draft) -> None:
    """Stores the draft in one step, so that a crash leaves the old one."""
    path, text = draft_path(database), json.dumps(asdict(draft))
    if _foreign(draft) != draft:  # only a draft with foreign parts needs a record
        trust_record().store_draft(path, text)
    replace_file(path, text.encode())


def _foreign(draft: Draft) -> Draft:
    """Returns the draft as read from another person: without servers, keys, cluster, code and source file."""
    return Draft(_without_foreign(draft.text), "", tuple(map(_without_foreign, draft.earlier)))


def _without_foreign(text: str) -> str:
    """Removes foreign parts from a text. Returns an empty text if it is not valid TOML, because they cannot be found then."""
    try:
        values = values_of(text)
        keys = [*foreign_keys(values), *foreign_files(values)]
    except ValueError:
        return ""
    return edited(text, [Put(path, UNSET if value is None else value) for path, value in keys]) if keys else text


MOST_STEPS_BACK = 200


class DraftHistory:
    """A draft with its values and its undo and redo history."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.values: dict[str, Any] = {}
        self.readable = True
        """whether the text is valid TOML, which the form needs"""
        self.touched = False
        """whether the draft has changed and must be stored"""
        self._before: list[tuple[Draft, str]] = []
        """the draft before each change, and the name of the change"""
        self._after: list[tuple[Draft, str]] = []
        self._edits: tuple[Edit, ...] = ()
        """edits of the form since the last entry of `_before`"""
        self._written = True
        """whether these edits are in the text"""
        self._typing = False
        """whether the last change was typed in the TOML"""
        self._read()

    @property
    def kind(self) -> str | None:
        return kind_of(self.values)

    def _read(self) -> None:
        try:
            self.values = values_of(self.draft.text)
            self.readable = True
        except tomllib.TOMLDecodeError:
            self.readable = False

    def edit(self, *edits: Edit) -> None:
        """Applies a change from the form. The next `written` updates the text. A further value for the same key is applied to the
        text before the change, so that a cleared key keeps its place and its comment."""
        same = len(edits) == len(self._edits) == 1 and self._edits[0].path == edits[0].path
        if not (same and isinstance(edits[0], Put)):
            self._remember(_key_text(edits[0]))
        self._edits, self._written, self.touched = edits, False, True
        for edit in edits:
            apply(self.values, edit)

    def written(self) -> str:
        """Returns the text with all edits."""
        if not self._written:
            self.draft = replace(self.draft, text=edited(self._before[-1][0].text, self._edits))
            self._written = True
        return self.draft.text

    def type_text(self, text: str) -> None:
        """Takes a text that was typed in the TOML editor."""
        if text != self.written():
            if not self._typing:
                self._remember("the TOML")
            self.draft = replace(self.draft, text=text)
            self._typing = self.touched = True
            self._read()

    def switch(self, kind: str) -> None:
        self.written()
        if kind != self.kind:
            self._replace_draft(replaced(self.draft, template(kind)), "the kind of study")

    def load(self, text: str, source: str = "") -> None:
        self.written()
        self._replace_draft(replaced(self.draft, text, source), "the whole text")

    def saved(self, source: str) -> None:
        self.draft = replace(self.draft, source=source)
        self.touched = True

    def undo(self) -> str | None:
        """Undoes the last change of a field or of the text. Returns the name of the change; None without changes."""
        return self._step(self._before, self._after)

    def redo(self) -> str | None:
        """Redoes the last undone change, if nothing was changed since."""
        return self._step(self._after, self._before)

    def _step(self, steps: list[tuple[Draft, str]], opposite: list[tuple[Draft, str]]) -> str | None:
        self.written()
        self._edits, self._typing = (), False
        while steps:
            draft, change = steps.pop()
            if draft != self.draft:  # equal if it was typed and deleted again
                opposite.append((self.draft, change))
                self.draft, self.touched = draft, True
                self._read()
                return change
        return None

    def _replace_draft(self, draft: Draft, change: str) -> None:
        if draft != self.draft:
            self._remember(change)
            self.draft, self.touched = draft, True
        self._read()

    def _remember(self, change: str) -> None:
        self.written()
        self._before = [*self._before[-MOST_STEPS_BACK:], (self.draft, change)]
        self._after, self._edits, self._typing = [], (), False


def _key_text(edit: Edit) -> str:
    """Returns the key for people, with positions counted from one."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in edit.path)


def anchored(text: str, folder: Path) -> str:
    """Makes the relative file paths in the text absolute, because the text will be stored in another folder."""
    values = values_of(text)
    edits: list[Edit] = []
    kind = kind_of(values)
    paths = [(kind, key) for key in load_kind(kind).files] if kind else []
    for path in paths:
        name = value_at(values, path)
        if isinstance(name, str) and name and not Path(name).is_absolute() and (folder / name).exists():
            edits.append(Put(path, str((folder / name).resolve())))
    return edited(text, edits) if edits else text


def config_to_run(text: str, source: str, folder: Path, logs: Path) -> Path:
    """Returns the saved file if it has the same text, else writes a private copy next to the batch's log."""
    if source and Path(source).is_file() and Path(source).read_text(encoding="utf-8") == text:
        return Path(source)
    descriptor, path = tempfile.mkstemp(".toml", time.strftime("%Y%m%d-%H%M%S-"), logs)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(anchored(text, folder))
    return Path(path)
