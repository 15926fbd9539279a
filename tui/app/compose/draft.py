"""The study that is being written, its undo history, and the file that keeps it from being lost.

The draft lies in a file beside the study file and is written while one types, so that leaving, a crash or a power cut cost
a second at most. It also keeps texts that another one replaced.

Such a file may come along with another person's study file. So the trust record remembers what was written here, and any
other draft loses its servers, keys, cluster and code (`trust.file_values`), and the name of the file it is saved to.
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
    """the file it was loaded from or saved to"""
    earlier: tuple[str, ...] = ()
    """texts that were replaced, the newest first"""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text, *self.earlier)


def fresh() -> Draft:
    return Draft(template("secret_game"))


def kind_of(values: Mapping[str, Any]) -> str | None:
    kind = value_at(values, ("batch", "kind"))
    return kind if isinstance(kind, str) and installed(kind) else None


def replaced(draft: Draft, text: str, source: str = "") -> Draft:
    """Another text in place of the draft, which is kept unless it is a template as it came."""
    if text == draft.text:
        return replace(draft, source=source)
    plain = {template(kind) for kind in KINDS if installed(kind)}
    earlier_texts = [old for old in draft.texts if old.strip() and old not in plain and old != text]
    return Draft(text, source, tuple(dict.fromkeys(earlier_texts))[:MOST_EARLIER])


def draft_path(database: Path) -> Path:
    return database.with_name(f"{database.name}.draft")


def read_draft(database: Path) -> Draft | None:
    """None where there is none, or none that can be read."""
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
    """Whole or not at all: a crash while writing leaves the one before."""
    path, text = draft_path(database), json.dumps(asdict(draft))
    if _foreign(draft) != draft:  # else a draft from another person would lose nothing either
        trust_record().store_draft(path, text)
    replace_file(path, text.encode())


def _foreign(draft: Draft) -> Draft:
    """The draft as it is read from another person: without servers, keys, a cluster and code, nor a file to be saved to."""
    return Draft(_without_foreign(draft.text), "", tuple(map(_without_foreign, draft.earlier)))


def _without_foreign(text: str) -> str:
    """A text that is not TOML yet might name a server as soon as it is: nothing of it is kept."""
    try:
        values = values_of(text)
        keys = [*foreign_keys(values), *foreign_files(values)]
    except ValueError:
        return ""
    return edited(text, [Put(path, UNSET if value is None else value) for path, value in keys]) if keys else text


MOST_STEPS_BACK = 200


class DraftHistory:
    """A draft with its values, and the drafts before each change and after each undo."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.values: dict[str, Any] = {}
        self.readable = True
        """whether the text is TOML, so that there is something for a form to show"""
        self.touched = False
        """whether there is anything to keep"""
        self._before: list[tuple[Draft, str]] = []
        """the draft before each change, and what was changed"""
        self._after: list[tuple[Draft, str]] = []
        self._edits: tuple[Edit, ...] = ()
        """of the form since the last draft before"""
        self._written = True
        """whether they are in the text"""
        self._typing = False
        """whether the last change was typed into the text itself"""
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
        """One change from the form. The text follows with the next `written`. Another value for the same key is made
        in the text before it, so a key that was cleared keeps its place and its remark."""
        same = len(edits) == len(self._edits) == 1 and self._edits[0].path == edits[0].path
        if not (same and isinstance(edits[0], Put)):
            self._remember(_key_text(edits[0]))
        self._edits, self._written, self.touched = edits, False, True
        for edit in edits:
            apply(self.values, edit)

    def written(self) -> str:
        """The text with every edit in it."""
        if not self._written:
            self.draft = replace(self.draft, text=edited(self._before[-1][0].text, self._edits))
            self._written = True
        return self.draft.text

    def type_text(self, text: str) -> None:
        """The TOML itself was typed in."""
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
        """Back to how it was before the last field was changed, or another text loaded. What was taken back; None where
        there is nothing."""
        return self._step(self._before, self._after)

    def redo(self) -> str | None:
        """Forth again, until something else is changed."""
        return self._step(self._after, self._before)

    def _step(self, steps: list[tuple[Draft, str]], opposite: list[tuple[Draft, str]]) -> str | None:
        self.written()
        self._edits, self._typing = (), False
        while steps:
            draft, change = steps.pop()
            if draft != self.draft:  # else it was typed, and typed back
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
    """The key, and whose it is: they are counted from one."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in edit.path)


def anchored(text: str, folder: Path) -> str:
    """The text with the files it names by a relative path named in full, for it is going to lie elsewhere."""
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
    """The saved file where it says the same, else a private copy beside the batch's log."""
    if source and Path(source).is_file() and Path(source).read_text(encoding="utf-8") == text:
        return Path(source)
    descriptor, path = tempfile.mkstemp(".toml", time.strftime("%Y%m%d-%H%M%S-"), logs)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(anchored(text, folder))
    return Path(path)
