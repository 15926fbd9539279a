"""A genome is an ordered list of text segments, in practice sentences.

Segments are kept letter for letter: what stands between two of them (a space, or a line break before an item
of a list) is put back when the prompt is written, so punctuation and numbers survive every operator.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

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

    @cached_property
    def prompt(self) -> str:
        return join_segments(self.segments)

    @cached_property
    def content(self) -> str:
        """The same for equal prompts, whatever their history."""
        return _digest((self.prompt,))

    @cached_property
    def id(self) -> str:
        """The same only for equal prompts with an equal history."""
        return _digest((self.prompt, str(self.generation), self.operator, *self.parents))

    def child(self, segments: Iterable[str], operator: str, generation: int, *others: "Genome") -> "Genome":
        parents = tuple(dict.fromkeys((self.id, *(other.id for other in others))))
        return Genome(tuple(segments), parents, operator, generation)


def genome_from(prompt: str, operator: str = "seed", generation: int = 0) -> Genome:
    return Genome(split_segments(prompt), (), operator, generation)


def split_segments(prompt: str) -> tuple[str, ...]:
    lines = (" ".join(line.split()) for line in prompt.splitlines())
    return tuple(segment for line in lines if line for segment in _sentences(line))


def join_segments(segments: Iterable[str]) -> str:
    prompt = ""
    for segment in segments:
        gap = "" if not prompt else "\n" if _LIST_ITEM.match(segment) else " "
        prompt += gap + segment
    return prompt


def _sentences(line: str) -> list[str]:
    found, start = [], 0
    for end in _SENTENCE_END.finditer(line):
        sentence = line[start : end.end()]
        if _NO_END.search(sentence):
            continue
        found.append(sentence.strip())
        start = end.end()
    return [*found, line[start:].strip()]


def _digest(parts: tuple[str, ...]) -> str:
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
