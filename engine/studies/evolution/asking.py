"""What a model is shown: the system prompt, solved examples as a talk before the question, the question.

An example is never the very problem that is asked, nor one in hardly other words with the same answer: for that one it is
left out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.call import Message
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.operators.examples import Showable
from tidepool.engine.studies.evolution.placeholders import filled, parts
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import AnswerTask, choices_of, letter_of

SOLUTIONS = ("solution", "worked", "rationale", "canonical_solution")
"""columns of a file in which a problem is worked out"""

_CALCULATOR = re.compile(r"<<[^<>]*>>")
"""GSM8K's notes for one"""


NEARLY = 92.0
"""per cent of letters in common: the same question in hardly other words"""


@dataclass(frozen=True)
class Asking:
    task: AnswerTask
    problems: Sequence[Problem]
    """of the search: the examples are among them"""

    def asked(self, genome: Genome, problem: Problem) -> tuple[str, tuple[Message, ...]]:
        """The system prompt and the messages."""
        system, user = parts(genome.prompt)
        shown = [one for one in self._shown(genome) if not _tells(one, problem)]
        pairs = (message for one in shown for message in self._pair(one, user))
        return filled(system, problem), (*pairs, Message("user", filled(user, problem)))

    def spoken(self, genome: Genome) -> str:
        """All of it but the question, for its length."""
        user = parts(genome.prompt)[1]
        return "\n".join((genome.prompt, *(text for one in self._shown(genome) for _, text in self._pair(one, user))))

    def showable(self, most: int) -> Showable:
        """`most` at once, and never all there are: one must be left to be asked."""
        return Showable(self._solved, min(most, len(self._solved) - 1)) if most else Showable()

    @cached_property
    def _solved(self) -> tuple[int, ...]:
        return tuple(number for number, problem in enumerate(self.problems) if self.demonstrated(problem))

    def _shown(self, genome: Genome) -> Iterator[Problem]:
        return (self.problems[number] for number in genome.examples)

    def _pair(self, problem: Problem, user: str) -> tuple[Message, Message]:
        return Message("user", filled(user, problem)), Message("assistant", self.demonstrated(problem))

    def demonstrated(self, problem: Problem) -> str:
        """The answer in the form in which replies are looked for it, worked out where the file has that; empty: it cannot be shown."""
        worked = next((str(text).strip() for name in SOLUTIONS if (text := problem.fields.get(name))), "")
        match self.task.kind(problem.answer):
            case "number":
                steps = _CALCULATOR.sub("", worked.partition("####")[0]).strip()
                return f"{steps}\n#### {problem.answer}".strip()
            case "choice":
                return letter_of(problem.answer, choices_of(problem.fields)) or ""
            case "python":
                return worked
        return problem.answer


def _tells(example: Problem, problem: Problem) -> bool:
    if example.question == problem.question:
        return True
    if example.answer != problem.answer:
        return False
    from rapidfuzz.fuzz import ratio

    return ratio(example.question, problem.question, score_cutoff=NEARLY) > 0
