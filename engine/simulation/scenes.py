"""Taking replies apart: who speaks where in a narrated scene, and what is thought rather than said.

The results are character offsets into the reply, which is stored once, as it came. Models are sloppy with
tags, so names are found with markup around them, in other capitals, shortened to a unique first name, with a
remark in brackets, or with the colon of another script.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_ASIDE = re.compile(r"(?<!\*)\*{1,2}(?![\s*])([^*]{1,4000}?)(?<!\s)\*{1,2}(?!\*)")
_FIRST_THOUGHT = re.compile(r"\*{1,2}(?!\*)([^*]+)\*{1,2}")
_UNCLOSED_THOUGHT = re.compile(r"\*{1,2}(?!\*)([^*]+?)(?=\n\s*\n|\Z)")

_BEFORE_NAME = r"[ \t>#\-\"“]{0,8}(?:[0-9]{1,3}[.)][ \t]*)?(?P<opened>[*_]{1,3})?"
_AFTER_NAME = (
    r"(?P<closed>[*_]{1,3})?(?:[ \t]{0,3}[(\[][^()\[\]\n]{0,80}[)\]])?[*_]{0,3}[ \t]{0,3}[:：]"
    # **Ada:** closes behind the colon, but Ada:*hm* opens a thought there
    r"(?(opened)(?(closed)|(?:(?P=opened))?)|)"
)


class Span(NamedTuple):
    start: int
    end: int

    def of(self, source: str) -> str:
        return source[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Speech:
    """One message inside a reply."""

    speaker: str
    text: Span
    thought: Span | None = None
    """without its asterisks"""


def split_scene(scene: str, names: Sequence[str], thoughts: bool = False) -> list[Speech]:
    """The messages of a narrated scene in order. Text before the first tag is nobody's and left out."""
    pattern, speakers = _tags(tuple(names))
    tags = [tag for tag in pattern.finditer(scene) if tag["name"].casefold() in speakers]
    ends = [*(tag.start() for tag in tags), len(scene)][1:]
    speeches = [
        _speech(scene, speakers[tag["name"].casefold()], tag.end(), end, thoughts)
        for tag, end in zip(tags, ends, strict=True)
    ]
    return [speech for speech in speeches if speech.thought or speech.text.start < speech.text.end]


def split_reply(reply: str, speaker: str, others: Sequence[str], thoughts: bool = False) -> Speech:
    """One entity's own message: without a tag before it, cut where it begins to speak for another."""
    pattern, speakers = _tags((speaker, *others))
    start, end = 0, len(reply)
    for tag in pattern.finditer(reply):
        if speakers.get(tag["name"].casefold(), speaker) != speaker:
            end = tag.start()
            break
        if not reply[: tag.start()].strip():
            start = tag.end()
    return _speech(reply, speaker, start, end, thoughts)


def spoken_aloud(text: str) -> str:
    """What the others hear: asides of three words or more are thoughts, shorter ones are stress."""
    return _ASIDE.sub(lambda aside: aside[0] if len(aside[1].split()) < 3 else "", text).strip()


def _speech(source: str, speaker: str, start: int, end: int, thoughts: bool) -> Speech:
    said = _trimmed(source, start, end)
    if not thoughts:
        return Speech(speaker, said)
    first = _FIRST_THOUGHT.match(source, *said) or _UNCLOSED_THOUGHT.match(source, *said)
    if first is None:
        return Speech(speaker, said)
    last = first
    while following := _ASIDE.match(source, _trimmed(source, last.end(), said.end).start, said.end):
        last = following
    return Speech(speaker, _trimmed(source, last.end(), said.end), _trimmed(source, first.start(1), last.end(1)))


def _trimmed(source: str, start: int, end: int) -> Span:
    part = source[start:end]
    left = len(part) - len(part.lstrip())
    return Span(start + left, max(start + left, start + len(part.rstrip())))


@lru_cache(maxsize=256)
def _tags(names: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """A pattern for a tag at the start of a line, and who is meant by each way of writing a name."""
    speakers = {name.casefold(): name for name in names}
    firsts = [name.split()[0].casefold() for name in names]
    for name, first in zip(names, firsts, strict=True):
        if firsts.count(first) == 1:
            speakers.setdefault(first, name)
    written = sorted({*names, *(name.split()[0] for name in names)}, key=lambda name: (-len(name), name))
    known = "|".join(re.escape(name) for name in written if name.casefold() in speakers)
    pattern = rf"^{_BEFORE_NAME}(?P<name>{known}){_AFTER_NAME}"
    return re.compile(pattern, re.MULTILINE | re.IGNORECASE), speakers
