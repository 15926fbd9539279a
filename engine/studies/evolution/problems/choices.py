"""Questions with choices: what the model is shown, and which letter is right."""

import json
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.errors import UsageError
from tidepool.engine.providers.replies import clean
from tidepool.engine.studies.evolution.tasks.task import letter_of

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Choices:
    texts: Mapping[str, str]
    """by letter"""
    names: Mapping[str, str]
    """what the file calls them, where it has names of its own → the letter"""

    def letter(self, answer: str) -> str:
        """The letter of the expected answer; the answer as it is, where it is none of them."""
        return self.names.get(answer) or letter_of(answer, self.texts) or answer

    def shown_in(self, question: str) -> str:
        """The question with its choices, one a line, unless it shows them already."""
        if all(re.search(rf"(?<!\w)\(?{letter}[).:\]]", question) for letter in self.texts):
            return question
        return "\n".join((question, "", *(f"{letter}) {text}" for letter, text in self.texts.items())))


def choices_in(found: Any, where: str) -> Choices | None:
    """A list, an object by letter, a list of {"label", "text"}, or {"label": […], "text": […]}; as JSON in a table's cell."""
    named = _named(_parsed(found))
    if named is None:
        return None
    pairs = [(name, clean(str(text).strip())) for name, text in named if text not in (None, "")]
    if not 2 <= len(pairs) <= len(LETTERS):
        raise UsageError(f"{where}: {len(pairs)} choices; between 2 and {len(LETTERS)} can be told apart.")
    bare = [name.strip("().: ").upper() for name, _ in pairs]
    own = len(set(bare)) == len(bare) and all(len(name) == 1 and name in LETTERS for name in bare)
    letters = bare if own else list(LETTERS[: len(pairs)])
    texts = dict(zip(letters, (text for _, text in pairs), strict=True))
    names = {} if own else {name: letter for (name, _), letter in zip(pairs, letters, strict=True) if name}
    return Choices(texts, names)


def _parsed(found: Any) -> Any:
    if not isinstance(found, str) or not found.lstrip().startswith(("[", "{")):
        return found
    try:
        return json.loads(found)
    except (ValueError, RecursionError):
        return found


def _named(found: Any) -> list[tuple[str, Any]] | None:
    if isinstance(found, Mapping) and isinstance(found.get("text"), list):
        labels = found.get("label")
        texts = found["text"]
        names = labels if isinstance(labels, list) and len(labels) == len(texts) else [""] * len(texts)
        return [(str(name), text) for name, text in zip(names, texts, strict=True)]
    if isinstance(found, Mapping):
        return [(str(name), text) for name, text in found.items()]
    if isinstance(found, list) and found and all(isinstance(one, Mapping) and "text" in one for one in found):
        return [(str(one.get("label", "")), one["text"]) for one in found]
    if isinstance(found, list):
        return [("", text) for text in found]
    return None
