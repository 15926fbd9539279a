"""A prompt may say where the question stands, and name columns of the data: `{question}`, `{context}`.

With `{question}` in it a prompt is the message of the user as a whole; what stands before a line `---` is then the system prompt.
Without it a prompt is the system prompt, and the question is the message. A line with a placeholder is one piece, which no
operator takes apart, moves to another prompt or leaves out. Braces around anything else are plain text.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.engine.studies.evolution.problems.problem_set import Problem

QUESTION, SEPARATOR = "{question}", "---"
NEVER_SHOWN = frozenset(
    "answer answers answerKey answer_key answer_idx correct_answer final_answer gold target label solution worked rationale "
    "canonical_solution test tests test_list".split()
)
"""columns that tell the answer"""
Frame = tuple[tuple[str, float], ...]
"""pieces with placeholders, each with the share of the other segments that stand before it"""

_PLACEHOLDER = re.compile(r"(?<![\w\\{}$])\{([A-Za-z_]\w*)\}(?!\})")


def is_fixed(segment: str) -> bool:
    return segment == SEPARATOR or _PLACEHOLDER.search(segment) is not None


def unframed(segments: Iterable[str]) -> tuple[tuple[str, ...], Frame]:
    """The segments that may be changed, and what holds them."""
    free: list[str] = []
    fixed: list[tuple[str, int]] = []
    for segment in segments:
        if is_fixed(segment):
            fixed.append((segment, len(free)))
        else:
            free.append(segment)
    return tuple(free), tuple((segment, place / len(free) if free else 0.0) for segment, place in fixed)


def framed(free: tuple[str, ...], frame: Frame) -> tuple[str, ...]:
    if not frame:
        return free
    found: list[str] = []
    done = 0
    for segment, share in frame:
        place = round(share * len(free))
        found += [*free[done:place], segment]
        done = max(done, place)
    return (*found, *free[done:])


def parts(prompt: str) -> tuple[str, str]:
    """The system prompt, and the message in which the question stands."""
    lines = prompt.split("\n")
    asked = max((place for place, line in enumerate(lines) if QUESTION in line), default=0)
    for place in reversed(range(asked)):
        if lines[place].strip() == SEPARATOR:
            return "\n".join(lines[:place]).strip(), "\n".join(lines[place + 1 :]).strip()
    return ("", prompt) if QUESTION in prompt else (prompt, QUESTION)


def filled(template: str, problem: "Problem") -> str:
    """In one go, so that braces in a question stay what they are."""

    def value(found: re.Match[str]) -> str:
        return problem.question if found[1] == "question" else _shown(found[1], problem.fields) or found[0]

    return _PLACEHOLDER.sub(value, template)


def placeholders(text: str, columns: Collection[str]) -> Counter[str]:
    """How often each stands in a text, and whether a line divides it."""
    found = Counter(name for name in _PLACEHOLDER.findall(text) if name == "question" or name in columns)
    return found + Counter({SEPARATOR: parts(text)[0] != "" and QUESTION in text})


def columns_of(problems: Iterable["Problem"]) -> frozenset[str]:
    return frozenset(name for problem in problems for name in problem.fields) - NEVER_SHOWN


def seed_text(seed: Any) -> Any:
    """`{ system = "…", user = "…" }` as one text; what is no such table is left to be judged elsewhere."""
    if not isinstance(seed, Mapping) or not {"user"} <= set(seed) <= {"system", "user"}:
        return seed
    if QUESTION not in str(seed["user"]):
        raise ValueError(f"the user part of a seed prompt must say where the question stands: {QUESTION}")
    return f"{seed['system']}\n{SEPARATOR}\n{seed['user']}" if seed.get("system") else seed["user"]


def _shown(name: str, fields: Mapping[str, Any]) -> str:
    if name in NEVER_SHOWN or name not in fields:
        return ""
    if name in ("choices", "options"):
        from tidepool.engine.studies.evolution.tasks.task import choices_of

        return "\n".join(f"{letter}) {text}" for letter, text in choices_of(fields).items())
    value = fields[name]
    return str(value) if isinstance(value, str | int | float) else ""
