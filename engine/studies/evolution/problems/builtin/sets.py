"""The built-in problem sets, and the way back from a question to its template."""

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from tidepool.engine.studies.evolution.problems.builtin import arithmetic, logic, strings
from tidepool.engine.studies.evolution.problems.builtin.template import Template, Worked

TEMPLATES: tuple[Template, ...] = (*arithmetic.TEMPLATES, *logic.TEMPLATES, *strings.TEMPLATES)

SETS: dict[str, tuple[Template, ...]] = {
    "arithmetic": arithmetic.TEMPLATES,
    "arithmetic-easy": tuple(one for one in arithmetic.TEMPLATES if one.level <= 2),
    "arithmetic-hard": tuple(one for one in arithmetic.TEMPLATES if one.level >= 4),
    "logic": logic.TEMPLATES,
    "strings": strings.TEMPLATES,
    "mixed": TEMPLATES,
}


@dataclass(frozen=True)
class Recognised:
    """A question traced back to its template."""

    kind: str
    level: int
    worked: Worked


@lru_cache(maxsize=16384)
def recognise(question: str) -> Recognised | None:
    """None for a question that is not one of ours."""
    text = question.strip()
    for template in TEMPLATES:
        values = template.read(text)
        if values is not None:
            return Recognised(template.kind, template.level, template.work(values))
    return None


def draw_question(set_name: str, rng: Random) -> tuple[str, str]:
    """A question and its answer."""
    template = rng.choice(SETS[set_name])
    values = template.draw(rng)
    return template.question(values), template.work(values).answer
