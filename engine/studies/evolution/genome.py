"""Genomes: prompts as ordered segments, with placeholders and the examples that are shown with them.

Segments are sentences, unchanged letter for letter. The text between two of them is restored when the prompt is joined, so
punctuation and numbers survive every operator.

A prompt may contain placeholders for the question and for columns of the data: `{question}`, `{context}`. A prompt with
`{question}` is the whole user message, and the text before a line `---` is the system prompt. Without `{question}`, a prompt is
the system prompt, and the question is the message. A line with a placeholder is one piece that operators do not split, move to
another prompt or drop. Braces around anything else are plain text.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.engine.studies.evolution.problems.problem_set import Problem

QUESTION, SEPARATOR = "{question}", "---"
NEVER_SHOWN = frozenset(
    "answer answers answerKey answer_key answer_idx correct_answer final_answer gold target label solution worked rationale "
    "canonical_solution test tests test_list".split()
)
"""columns that contain the answer"""
Frame = tuple[tuple[str, float], ...]
"""pieces with placeholders, each with the share of the other segments before it"""

_PLACEHOLDER = re.compile(r"(?<![\w\\{}$])\{([A-Za-z_]\w*)\}(?!\})")


def is_fixed(segment: str) -> bool:
    return segment == SEPARATOR or _PLACEHOLDER.search(segment) is not None


def split_frame(segments: Iterable[str]) -> tuple[tuple[str, ...], Frame]:
    """The segments that may be changed, and the frame that holds them."""
    free: list[str] = []
    fixed: list[tuple[str, int]] = []
    for segment in segments:
        if is_fixed(segment):
            fixed.append((segment, len(free)))
        else:
            free.append(segment)
    return tuple(free), tuple((segment, place / len(free) if free else 0.0) for segment, place in fixed)


def insert_frame(free: tuple[str, ...], frame: Frame) -> tuple[str, ...]:
    if not frame:
        return free
    merged: list[str] = []
    done = 0
    for segment, share in frame:
        place = round(share * len(free))
        merged += [*free[done:place], segment]
        done = max(done, place)
    return (*merged, *free[done:])


def parts(prompt: str) -> tuple[str, str]:
    """The system prompt, and the message that contains the question."""
    lines = prompt.split("\n")
    question_line = max((place for place, line in enumerate(lines) if QUESTION in line), default=0)
    for place in reversed(range(question_line)):
        if lines[place].strip() == SEPARATOR:
            return "\n".join(lines[:place]).strip(), "\n".join(lines[place + 1 :]).strip()
    return ("", prompt) if QUESTION in prompt else (prompt, QUESTION)


def fill_template(template: str, problem: "Problem") -> str:
    """Replaces all placeholders in one pass, so that braces in a question stay unchanged."""

    def value(match: re.Match[str]) -> str:
        return problem.question if match[1] == "question" else _shown(match[1], problem.fields) or match[0]

    return _PLACEHOLDER.sub(value, template)


def placeholders(text: str, columns: Collection[str]) -> Counter[str]:
    """How often each occurs in a text, and whether a line `---` divides it."""
    counts = Counter(name for name in _PLACEHOLDER.findall(text) if name == "question" or name in columns)
    return counts + Counter({SEPARATOR: parts(text)[0] != "" and QUESTION in text})


def columns_of(problems: Iterable["Problem"]) -> frozenset[str]:
    return frozenset(name for problem in problems for name in problem.fields) - NEVER_SHOWN


def seed_text(seed: Any) -> Any:
    """`{ system = "…", user = "…" }` as one text; other values are returned for later validation."""
    if not isinstance(seed, Mapping) or not {"user"} <= set(seed) <= {"system", "user"}:
        return seed
    if QUESTION not in str(seed["user"]):
        raise ValueError(f"the user part of a seed prompt must contain the placeholder {QUESTION}")
    return f"{seed['system']}\n{SEPARATOR}\n{seed['user']}" if seed.get("system") else seed["user"]


def _shown(name: str, fields: Mapping[str, Any]) -> str:
    if name in NEVER_SHOWN or name not in fields:
        return ""
    if name in ("choices", "options"):
        from tidepool.engine.studies.evolution.tasks.task import choices_of

        return "\n".join(f"{letter}) {text}" for letter, text in choices_of(fields).items())
    value = fields[name]
    return str(value) if isinstance(value, str | int | float) else ""


_LIST_ITEM = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s")
_SENTENCE_END = re.compile(r"""[.!?…]["'”’)\]]*\s+(?=["'“‘(\[]?[A-Z0-9#])""")
_NO_END = re.compile(r"(?:^|\s)(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|No|[A-Z])\.\s*$|^\s*\d{1,3}\.\s*$")


@dataclass(frozen=True)
class Genome:
    segments: tuple[str, ...]
    parents: tuple[str, ...] = ()
    """ids of the genomes it was made from"""
    operator: str = "seed"
    """the operators that made it, e.g. `single_point+word_swap`"""
    generation: int = 0

    @cached_property
    def prompt(self) -> str:
        return join_segments(self.segments)

    @cached_property
    def id(self) -> str:
        """Equal only for equal prompts with an equal history."""
        history = "\x1f".join((self.prompt, str(self.generation), self.operator, *self.parents))
        return blake2b(history.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

    def child(self, segments: Iterable[str], operator: str, generation: int, *others: "Genome") -> "Genome":
        parents = tuple(dict.fromkeys((self.id, *(other.id for other in others))))
        return Genome(tuple(segments), parents, operator, generation)


def genome_from(prompt: str) -> Genome:
    return Genome(split_segments(prompt))


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
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(line):
        sentence = line[start : end.end()]
        if _NO_END.search(sentence[-12:]):  # all that the pattern examines
            continue
        sentences.append(sentence.strip())
        start = end.end()
    return [*sentences, line[start:].strip()]


SEED_PROMPTS: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("seed_prompts.json").read_text(encoding="utf-8")
)
"""about fifty, by family"""


def seed_genomes() -> tuple[Genome, ...]:
    """All seeds. The families take turns, so that any first part of them is mixed."""
    rounds = zip(*SEED_PROMPTS.values(), strict=True)
    return tuple(genome_from(prompt) for one_of_each in rounds for prompt in one_of_each)


def segment_pool() -> tuple[str, ...]:
    """Every distinct segment of the seeds, used by mutation and random search."""
    prompts = (prompt for family in SEED_PROMPTS.values() for prompt in family)
    return tuple(dict.fromkeys(segment for prompt in prompts for segment in split_segments(prompt)))
