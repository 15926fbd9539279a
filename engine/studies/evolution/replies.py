"""Views of stored replies: one prompt with its answers, one problem with the answers of all prompts, one evaluation.

Wrong answers come first. A missing answer is shown with the error of its request, an unclear reply with the reason.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tidepool.engine.errors import NotFound
from tidepool.engine.reports.blocks import Block, Words, number, table
from tidepool.engine.studies.evolution.records import ROLES, finalists
from tidepool.engine.studies.evolution.tasks.verdict import WHY
from tidepool.storage.queries.learning import (
    GRADES,
    SPLITS,
    Answer,
    AnswerFilter,
    genome_history,
    genomes_like,
    genomes_with_same_prompt,
    matching_answers,
    read_answers,
)
from tidepool.storage.queries.lists import Transcript

TITLES = {"judge": "held-out problems", "search": "training problems"}
FIRST = 12
"""answers of each split that are shown by default"""
PARTS = ("accuracy", "consistency", "efficiency", "diversity", "length_penalty")


@dataclass(frozen=True, slots=True)
class FoundAnswers:
    """Some answers of a batch, and what they have in common."""

    batch_id: str
    roles: Mapping[str, str]
    """genome id → its role at the end, for reports"""
    answers: Sequence[Answer]
    genome: Mapping[str, Any] | None = None
    same_prompt_ids: tuple[str, ...] = ()
    """other genomes with the same prompt, which was evaluated once, under one of these ids"""

    def as_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"batch_id": self.batch_id}
        if self.genome:
            data["genome"] = {**self.genome, "role": self.roles.get(self.genome["genome_id"])}
            data["asked_as"] = list(self.same_prompt_ids)
        counts = by_split(self.answers)
        data["counts"] = {split: dict(Counter(answer.grade for answer in answers)) for split, answers in counts.items()}
        return {**data, "answers": [as_json(one) for one in self.answers]}


def as_json(answer: Answer) -> dict[str, Any]:
    """The columns of the view `answers`, the grade, and why a request failed."""
    return {**asdict(answer), "correct": {"right": True, "wrong": False}.get(answer.grade)}


def genome_named(connection: sqlite3.Connection, batch: sqlite3.Row, reference: str) -> str:
    """The id of a genome, from a prefix of it or from its role."""
    if reference in ROLES:
        genome_id = finalists(connection, batch["number"]).get(reference)
        if genome_id is None:
            raise NotFound(f"Batch {batch['id']} does not have a {ROLES[reference]} yet.")
        return genome_id
    like = genomes_like(connection, batch["number"], reference) if reference else []
    if len(like) == 1 or reference in like:
        return reference if reference in like else like[0]
    if not like:
        known = ", ".join(ROLES)
        raise NotFound(
            f"Batch {batch['id']} has no genome {reference!r}. Use an id, a prefix of one, or one of: {known}."
        )
    raise NotFound(
        f"{reference!r} could be {', '.join(like[:5])}{' or others' if len(like) > 5 else ''}. Give a longer prefix."
    )


def found_answers(
    connection: sqlite3.Connection, batch: sqlite3.Row, wanted: AnswerFilter, genome_id: str | None = None
) -> FoundAnswers:
    """The requested answers; with a genome, those of its prompt."""
    number = batch["number"]
    history, others = None, tuple[str, ...]()
    if genome_id is not None:
        history = genome_history(connection, number, genome_id)
        others = genomes_with_same_prompt(connection, number, genome_id)
        wanted = replace(wanted, genomes=() if wanted.conversation else others)
    answers = read_answers(connection, number, matching_answers(connection, number, wanted))
    roles: dict[str, str] = {}
    for role, genome in finalists(connection, number).items():
        roles.setdefault(genome, ROLES[role])
    return FoundAnswers(batch["id"], roles, answers, history, others[1:])


def by_split(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    """Held-out problems first; without empty splits."""
    groups: dict[str, list[Answer]] = {name: [] for name in SPLITS}
    for answer in answers:
        groups.setdefault(answer.split, []).append(answer)
    return {name: some for name, some in groups.items() if some}


def genome_blocks(matches: FoundAnswers, *, full: bool = False) -> Iterator[Block]:
    """The prompt, its history, its fitness, and its answers by split."""
    genome = matches.genome
    if genome is not None:
        role = matches.roles.get(genome["genome_id"])
        yield Words(f"genome {genome['genome_id']}" + (f": {role}" if role else ""), "strong")
        yield Words(genome["prompt"], "quoted")
        yield table("", ("", ""), list(_history(matches, genome)), left=2)
    yield from answer_blocks(matches, full=full)


def evaluation_blocks(unit: Transcript, matches: FoundAnswers, *, full: bool = False) -> Iterator[Block]:
    """One unit: the problems that a prompt got at one time."""
    yield Words(f"evaluation {unit.sequence_number:,}, {unit.status}", "strong")
    if unit.error:
        yield Words(f"failed: {unit.error}", "warning")
    yield from genome_blocks(matches, full=full)


def _history(matches: FoundAnswers, genome: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    generation = "" if genome["generation"] is None else f", generation {genome['generation']}"
    yield "origin", f"{genome['operator']}{generation}"
    if genome["parents"]:
        yield "parents", ", ".join(genome["parents"])
    if matches.same_prompt_ids:
        yield "same prompt", f"{', '.join(matches.same_prompt_ids)} (evaluated once)"
    if genome["fitness"] is not None:
        parts = ((name, genome["details"].get(name)) for name in PARTS)
        text = ", ".join(f"{name.replace('_', ' ')} {number(part, 3)}" for name, part in parts if part is not None)
        yield "fitness", number(genome["fitness"], 3) + (f": {text}" if text else "")
    if models := sorted({answer.model for answer in matches.answers if answer.model}):
        yield "asked", ", ".join(models)
    if genome["missing"]:
        yield "missing", f"{number(100 * genome['missing'], 1, ' %')} of its requests"


def answer_blocks(matches: FoundAnswers, *, full: bool = False) -> Iterator[Block]:
    """By split, each with its question."""
    if not matches.answers:
        yield Words("no matching answers", "quiet")
    for split, answers in by_split(matches.answers).items():
        yield Words(f"{TITLES.get(split, split)}: {counted(answers)}", "strong")
        shown = answers if full else answers[:FIRST]
        for answer in shown:
            rows = list(answer_facts(answer))
            if answer.reply is not None and not full:
                rows.append(("reply", answer.reply))
            yield table(_title(matches, answer), ("", ""), rows, left=2)
            if answer.reply is not None and full:
                yield Words(answer.reply, "quoted")
        if left := answers[len(shown) :]:
            yield Words(f"… and {counted(left)} more. Use --full to show all, or --problem N for one problem", "quiet")


def counted(answers: Sequence[Answer]) -> str:
    grades = Counter(answer.grade for answer in answers)
    return ", ".join(f"{grades[grade]:,} {grade}" for grade in GRADES if grades[grade])


def _title(matches: FoundAnswers, answer: Answer) -> str:
    where = f"problem {answer.problem}" + (f", sample {answer.sample}" if answer.sample else "")
    who = "" if matches.genome else f" by {answer.genome_id}"
    models = {other.model for other in matches.answers}
    model = f", {answer.model}" if len(models) > 1 else ""
    return f"{where}{who}{model}: {answer.grade}"


def answer_facts(answer: Answer) -> Iterator[tuple[str, str]]:
    """All facts except the reply, which may be long."""
    if answer.question is not None:
        yield "question", answer.question
        yield "gold", answer.gold or ""
    if answer.grade == "missing":
        yield "missing", answer.error or str(answer.metrics.get(WHY, "the request failed"))
        return
    if answer.extracted is not None:
        yield "read as" if answer.judgement is None else "rated", answer.extracted
    if answer.score not in (None, 0.0, 1.0):
        yield "score", number(answer.score, 3)
    if answer.judgement is not None:
        yield "judge", answer.judgement
    for name, value in answer.metrics.items():
        yield name, f"{value:g}" if isinstance(value, int | float) else str(value)
    if answer.finish_reason == "cut":
        yield "cut", "the reply ended at its length limit"
