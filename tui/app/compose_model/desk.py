"""The draft on the desk: what was typed into the form since the text was last written, and a way back and forth.

While one field is being typed in, each keystroke is an edit of the text as it was when the typing began. So a value that
is cleared and typed anew keeps its place and its comment.
"""

import asyncio
import tomllib
from dataclasses import dataclass, replace
from typing import Any

from tidepool.tui.app.compose_model.draft import Draft, kind_of, replaced, switched
from tidepool.tui.app.compose_model.edits import Edit, Put, apply, edited, values_of

MOST_STEPS_BACK = 200


@dataclass(frozen=True, slots=True)
class Step:
    """The draft as it was before a change, and what was changed."""

    draft: Draft
    what: str


class Desk:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.values: dict[str, Any] = {}
        self.readable = True
        """whether the text is TOML, so that there is something for a form to show"""
        self.touched = False
        """whether there is anything to keep"""
        self._base = draft.text
        self._edits: list[Edit] = []
        self._open = False
        self._before: list[Step] = []
        self._after: list[Step] = []
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
        self._base, self._edits, self._open, self._typing = self.draft.text, [], False, False

    # -- changes -----------------------------------------------------------------------------------------

    def edit(self, edit: Edit) -> None:
        """One change from the form. The text follows with the next `written`."""
        last = self._edits[-1] if self._edits else None
        if isinstance(edit, Put) and isinstance(last, Put) and edit.path == last.path:
            self._edits[-1] = edit
        else:
            if not self._open:
                self._remember(_told(edit))
                self._base, self._edits = self.draft.text, []
            self._edits.append(edit)
        apply(self.values, edit)
        self._after = []
        self._open = self.touched = True

    def type_text(self, text: str) -> None:
        """The TOML itself was typed in."""
        if text != self.draft.text:
            if not self._typing:
                self._remember("the TOML")
            self.draft = replace(self.draft, text=text)
            self._after = []
            self.touched = True
            self._read()
            self._typing = True

    def switch(self, kind: str) -> None:
        self.written_now()
        self._take(switched(self.draft, kind), "the kind of study")

    def load(self, text: str, source: str = "") -> None:
        self.written_now()
        self._take(replaced(self.draft, text, source), "the whole text")

    def saved(self, source: str) -> None:
        self.draft = replace(self.draft, source=source)
        self.touched = True

    def undo(self) -> str | None:
        """Back to how it was before the last field was changed, or another text loaded. What was taken back; None where
        there is nothing."""
        return self._turn(self._before, self._after)

    @property
    def can_redo(self) -> bool:
        return bool(self._after)

    def redo(self) -> str | None:
        """Forth again, until something else is changed."""
        return self._turn(self._after, self._before)

    def _turn(self, steps: list[Step], back: list[Step]) -> str | None:
        self.written_now()
        while steps:
            step = steps.pop()
            if step.draft != self.draft:  # else it was typed, and typed back
                back.append(Step(self.draft, step.what))
                self.draft = step.draft
                self.touched = True
                self._read()
                return step.what
        return None

    def _take(self, draft: Draft, what: str) -> None:
        if draft != self.draft:
            self._remember(what)
            self.draft, self._after = draft, []
            self.touched = True
        self._read()

    def _remember(self, what: str) -> None:
        self._before = [*self._before[-MOST_STEPS_BACK:], Step(self.draft, what)]

    # -- the text ----------------------------------------------------------------------------------------

    async def written(self) -> str:
        """The text with every edit in it; large ones are worked out in a thread."""
        while self._open:
            base, edits = self._base, list(self._edits)
            text = await asyncio.to_thread(edited, base, edits)
            self._settle(base, edits, text)
        return self.draft.text

    def written_now(self) -> str:
        """The same at once, for the moment of leaving."""
        if self._open:
            self._settle(self._base, list(self._edits), edited(self._base, self._edits))
        return self.draft.text

    def _settle(self, base: str, edits: list[Edit], text: str) -> None:
        if base == self._base and edits == self._edits:
            self.draft = replace(self.draft, text=text)
            self._open = False


def _told(edit: Edit) -> str:
    """The key, and whose it is: they are counted from one."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in edit.path)
