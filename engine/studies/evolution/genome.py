"""A genome is an ordered list of text segments, in practice sentences, and the solved problems that are shown with them.

Segments are kept letter for letter: what stands between two of them (a space, or a line break before an item
of a list) is put back when the prompt is written, so punctuation and numbers survive every operator.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from tidepool.engine.studies.evolution.placeholders import is_fixed

_PRIVATE = range(0xE000, 0xF900)
"""letters that stand for examples"""
_EXAMPLE_WEIGHT = 40
_LIST_ITEM = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s")
_SENTENCE_END = re.compile(r"""[.!?…]["'”’)\]]*\s+(?=["'“‘(\[]?[A-Z0-9#])""")
_NO_END = re.compile(r"(?:^|\s)(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|No|[A-Z])\.\s*$|^\s*\d{1,3}\.\s*$")


@dataclass(frozen=True)
class Genome:
    segments: tuple[str, ...]
    parents: tuple[str, ...] = ()
    """ids of the genomes it was made from"""
    operator: str = "seed"
    """how it came about, e.g. `single_point+word_swap`"""
    generation: int = 0
    examples: tuple[int, ...] = ()
    """problems of the search, by number, that are shown solved before the question"""

    @cached_property
    def prompt(self) -> str:
        return join_segments(self.segments)

    @cached_property
    def key(self) -> str:
        """Equal for genomes that ask the same in the same way, whatever their history."""
        return f"{self.prompt}\x1e{','.join(map(str, self.examples))}" if self.examples else self.prompt

    @cached_property
    def shape(self) -> str:
        """By which genomes are called alike: another example counts as much as another phrase."""
        return self.prompt + "".join(chr(_PRIVATE[one % len(_PRIVATE)]) * _EXAMPLE_WEIGHT for one in self.examples)

    @cached_property
    def content(self) -> str:
        """The same for equal keys."""
        return _digest((self.key,))

    @cached_property
    def id(self) -> str:
        """The same only for equal keys with an equal history."""
        return _digest((self.key, str(self.generation), self.operator, *self.parents))

    def child(self, segments: Iterable[str], operator: str, generation: int, *others: "Genome") -> "Genome":
        """With the examples of the first parent."""
        parents = tuple(dict.fromkeys((self.id, *(other.id for other in others))))
        return Genome(tuple(segments), parents, operator, generation, self.examples)


def genome_from(prompt: str, operator: str = "seed", generation: int = 0) -> Genome:
    return Genome(split_segments(prompt), (), operator, generation)


def split_segments(prompt: str) -> tuple[str, ...]:
    lines = (" ".join(line.split()) for line in prompt.splitlines())
    return tuple(segment for line in lines if line for segment in ([line] if is_fixed(line) else _sentences(line)))


def join_segments(segments: Iterable[str]) -> str:
    prompt, alone = "", False
    for segment in segments:
        before, alone = alone, is_fixed(segment)
        gap = "" if not prompt else "\n" if before or alone or _LIST_ITEM.match(segment) else " "
        prompt += gap + segment
    return prompt


def _sentences(line: str) -> list[str]:
    found, start = [], 0
    for end in _SENTENCE_END.finditer(line):
        sentence = line[start : end.end()]
        if _NO_END.search(sentence[-12:]):  # all that it looks at
            continue
        found.append(sentence.strip())
        start = end.end()
    return [*found, line[start:].strip()]


def _digest(parts: tuple[str, ...]) -> str:
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
