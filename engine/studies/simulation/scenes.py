"""Taking replies apart: who speaks where in a narrated scene, and what is thought rather than said.

The results are character offsets into the reply, which is stored once, as it came. Models are sloppy with
tags, so names are found with markup around them, in other capitals, shortened to a unique first name, with a
remark in brackets, or with the colon of another script.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_ASIDE = re.compile(r"(?<!\*)\*{1,2}(?![\s*])([^*]{1,4000}?)(?<!\s)\*{1,2}(?!\*)")
_FIRST_THOUGHT = re.compile(r"\*{1,2}(?!\*)([^*]+)\*{1,2}")
_UNCLOSED_THOUGHT = re.compile(r"\*{1,2}(?!\*)([^*]+?)(?=\n\s*\n|\Z)")

_BEFORE_NAME = re.compile(r"[ \t>#\-\"“]{0,8}(?:[0-9]{1,3}[.)][ \t]*)?(?P<opened>[*_]{1,3})?")
_AFTER_NAME = re.compile(r"(?P<closed>[*_]{1,3})?(?:[ \t]{0,3}[(\[][^()\[\]\n]{0,80}[)\]])?[*_]{0,3}[ \t]{0,3}[:：]")
_LINE = re.compile(r"^(?=.*[:：])", re.MULTILINE)
"""where a line begins that can hold a tag"""


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
    tags = list(_tags(scene, tuple(names)))
    ends = [*(tag.start for tag in tags), len(scene)][1:]
    speeches = [_speech(scene, tag.speaker, tag.end, end, thoughts) for tag, end in zip(tags, ends, strict=True)]
    return [speech for speech in speeches if speech.thought or speech.text.start < speech.text.end]


def split_reply(
    reply: str, speaker: str, others: Sequence[str], thoughts: bool = False, *, addresses: bool = True
) -> Speech:
    """One entity's own message: without a tag before it, cut where it begins to speak for another.

    Another's name before the first word is an address ("Bob: I think …") and stays; where the entity's own tag comes
    later, it first repeated what it had heard. Without `addresses` such a reply says nothing, as in older batches.
    """
    tags = list(_tags(reply, (speaker, *others)))
    own = next((tag for tag in (tags if addresses else tags[:1]) if tag.speaker == speaker), None)
    start = own.end if own and not reply[: tags[0].start].strip() else 0
    ends = (tag.start for tag in tags if tag.speaker != speaker and tag.start >= start)
    end = next((end for end in ends if reply[start:end].strip() or not addresses), len(reply))
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


class _Tag(NamedTuple):
    start: int
    end: int
    speaker: str


def _tags(text: str, names: tuple[str, ...]) -> Iterator[_Tag]:
    """The tags at the starts of lines. By hand: a pattern of the names would cost more to build than to use."""
    forms = _forms(names)
    for line in _LINE.finditer(text):
        if tag := _tag_at(text, line.start(), forms):
            yield tag


def _tag_at(text: str, start: int, forms: "Sequence[tuple[str, int, str]]") -> _Tag | None:
    before = _BEFORE_NAME.match(text, start)
    assert before is not None
    opened = before["opened"] or ""
    # A name may itself begin with what is taken for markup.
    for place, markup in dict.fromkeys(((before.end(), opened), (before.end() - len(opened), ""), (start, ""))):
        for folded, length, speaker in forms:
            if text[place : place + length].casefold() != folded:
                continue
            after = _AFTER_NAME.match(text, place + length)
            if after is not None:
                # **Ada:** closes behind the colon, but Ada:*hm* opens a thought there
                closes = markup and not after["closed"] and text.startswith(markup, after.end())
                return _Tag(start, after.end() + (len(markup) if closes else 0), speaker)
    return None


@lru_cache(maxsize=4096)
def _forms(names: tuple[str, ...]) -> tuple[tuple[str, int, str], ...]:
    """Every way of writing a name, folded, with its length and who is meant; the longest first."""
    firsts = [name.split()[0] for name in names]
    written = {name: name for name in names}
    for name, first in zip(names, firsts, strict=True):
        if [one.casefold() for one in firsts].count(first.casefold()) == 1:
            written.setdefault(first, name)
    known = {name.casefold(): name for name in names}
    return tuple(
        (form.casefold(), len(form), known.get(form.casefold(), speaker))
        for form, speaker in sorted(written.items(), key=lambda item: (-len(item[0]), item[0]))
    )
