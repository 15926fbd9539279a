"""One row of each view, typed. The names and their meaning are those of docs/data.md, and a test holds them to it."""

from dataclasses import dataclass
from typing import Any, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ConversationRow:
    id: int
    batch_id: str
    sequence_number: int
    game: int | None
    round: int | None
    interaction_type: str | None
    participants: list[Any]
    status: str
    error: str | None


@dataclass(frozen=True, slots=True)
class MessageRow:
    batch_id: str
    conversation_id: int
    turn: int
    wave: int
    speaker: str | None
    model: str
    served_model: str | None
    content: str
    thought: str | None
    finish_reason: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float | None
    source: str
    position: int


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    batch_id: str
    conversation_id: int
    mode: str
    game: int
    agent: str
    opponent: str
    opener: bool
    scenario: int | None
    secret: str | None
    revealed: bool
    uncertain: bool | None
    obtained: bool
    detector: str | None
    turn: int | None
    score: float
    model: str | None
    served_model: str | None


@dataclass(frozen=True, slots=True)
class JudgementRow:
    batch_id: str
    conversation_id: int
    place: int
    entity: str
    rating: float | None
    model: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class GenomeRow:
    batch_id: str
    generation: int
    genome_id: str
    parents: list[str]
    operator: str
    prompt: str
    fitness: float | None
    accuracy: float | None
    missing: float | None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    batch_id: str
    generation: int | None
    genome_id: str
    problem: int
    sample: int
    model: str | None
    question: str | None
    gold: str | None
    reply: str | None
    extracted: str | None
    correct: bool | None
    score: float | None
    finish_reason: str | None
    split: str
    conversation_id: int


@dataclass(frozen=True, slots=True)
class TrainingRow:
    batch_id: str
    update_number: int
    env_steps: int
    mean_reward: float | None
    success_rate: float | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """Of no view: read out of a mutation's episodes, with the columns of its export."""

    batch_id: str
    conversation_id: int
    episode: int
    split: str
    player: str
    step: int
    operator: str
    query: str | None
    rewritten: str | None
    fell_back: bool
    model: str | None
    reply: str | None
    reward: float | None


@dataclass(frozen=True, slots=True)
class LogRow:
    batch_id: str
    at: str
    level: str
    message: str
