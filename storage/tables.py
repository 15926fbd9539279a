"""The tables of a study file as SQLModel classes.

Every statement that writes is built from these classes (`storage/writer.py`, `storage/db.py`). `schema.sql` is generated from
them and from the views. New files are created from it, and opened files are checked against it. Commands that only read use
`schema.sql` alone, because importing SQLModel takes half a second. Generate it with:

    python -m tidepool.storage.tables > storage/schema.sql

A unit's id contains the number of its batch and its place there (`storage/states.py`). Times are seconds since 1970. Other
programs read the views (`views.py`), never these tables. A later version adds columns at the end of a table, as SQLite does.
"""

import re
import textwrap
from collections.abc import Iterator
from typing import Annotated

from sqlalchemy import Column, Index, LargeBinary, Text, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import Field, SQLModel

from tidepool.storage.views import VIEWS

Key = Annotated[int, Field(primary_key=True)]
NameKey = Annotated[str, Field(primary_key=True)]
RowId = Annotated[int | None, Field(primary_key=True)]
LongText = Annotated[str, Field(sa_type=Text)]
OptionalText = Annotated[str | None, Field(sa_type=Text)]


class Batch(SQLModel, table=True):
    __table_args__ = {"sqlite_autoincrement": True}
    """Numbers are never reused, so that a process that still runs a deleted batch cannot write into another one."""

    number: RowId = None
    id: str = Field(unique=True)
    kind: str
    name: str
    description: str = ""
    status: str = "pending"
    reason: str | None = None
    paused: bool = False
    seed: int
    simulated: bool = False
    imported: bool = False
    """an imported batch is read and resumed like any other, but its replies are never used as cache"""
    config: LongText
    """the resolved and frozen config, which is all that a resume needs"""
    version: str
    host: str | None = None
    created_at: float
    finished_at: float | None = None
    stop_code: str | None = None
    """why it stopped, for programs; `reason` is for people"""
    study_id: str | None = None
    """the study with a design that the batch belongs to"""
    replicate: int | None = None
    origin: OptionalText = None
    """the source of a branch, as JSON"""
    headline: OptionalText = None
    """the main result at its end, as JSON, so that lists of batches need no computation"""


class Progress(SQLModel, table=True):
    """Running counters of a batch, which the app reads several times a second."""

    batch_number: Key
    units_total: int = 0
    units_completed: int = 0
    units_failed: int = 0
    calls: int = 0
    bought: int = 0
    cached: int = 0
    replayed: int = 0
    retried: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """replies of unknown price; with any of them the total cost is unknown too"""
    seconds: float = 0.0
    """running time of the batch, summed over all sessions"""
    call_seconds: float = 0.0
    peak_concurrency: int = 0
    heartbeat: int = 0
    """rises while a process runs the batch, and stays constant in a copy of the file"""
    heartbeat_at: float = 0.0
    in_flight: str = "[]"
    """some of the calls in flight, as [sequence number, wave] pairs"""
    limits: str = "{}"
    """the current limits, for display"""
    in_flight_usd: float = 0.0
    """what the calls in flight may cost, which counts as spent if the process dies now"""
    reasoning_tokens: int = 0
    cut: int = 0
    """replies that reached their length limit"""
    unusable: int = 0
    """paid replies that cannot be used"""
    usage_missing: int = 0
    """replies without plausible token counts, counted at their maximum cost"""


class Wave(SQLModel, table=True):
    batch_number: Key
    wave: Key
    calls: int = 0
    failed: int = 0
    cached: int = 0
    retried: int = 0
    seconds: float = 0.0
    transport: str = ""


class Unit(SQLModel, table=True):
    __table_args__ = (Index("unit_by_batch", "batch_number", "status"),)

    id: Key
    batch_number: int
    sequence_number: int
    game: int | None = None
    round: int | None = None
    interaction_type: str | None = None
    participants: str = "[]"
    status: str = "in_progress"
    error: str | None = None
    sealed: bool = False
    """another unit has read its outcome, so a failure in it is never retried"""
    started_at: float | None = None
    finished_at: float | None = None
    details: str | None = None
    """further data of the unit, as JSON"""


class Call(SQLModel, table=True):
    """The ledger, with one row for each call that was answered or failed for good."""

    __table_args__ = (
        Index("call_by_address", "unit_id", "step", unique=True),
        Index("call_by_key", "key", sqlite_where=text("status = 'answered'")),
    )

    id: RowId = None
    unit_id: int
    step: str
    wave: int
    turn: int | None = None
    speaker: str | None = None
    model: str
    key: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    prompt: bytes | None = Field(default=None, sa_column=Column(LargeBinary))
    status: str
    """answered or failed"""
    text: str = Field(default="", sa_type=Text)
    truth: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    source: str = "live"
    attempts: int = 1
    error: str | None = None
    order_id: str | None = None
    at: float
    finish_reason: str | None = None
    """why the reply ended, as a FinishReason; None: not recorded"""
    served_model: str | None = None
    """the model that answered, as reported by the provider"""
    thought: OptionalText = None
    """reasoning that came with the reply and is not part of it"""
    reasoning_tokens: int = 0
    """a part of the output tokens"""
    usage_missing: bool = False
    """the provider reported no plausible token counts, so tokens and cost are the maximum"""
    seal: bytes | None = Field(default=None, sa_column=Column(LargeBinary))
    """in a batch that runs code: a keyed hash of the text, which proves to its user that the reply is unchanged"""


class Prompt(SQLModel, table=True):
    """Each distinct system prompt once, so that published conversations include their prompts."""

    hash: bytes = Field(sa_column=Column(LargeBinary, primary_key=True))
    text: LongText


class Line(SQLModel, table=True):
    """A message that is part of a reply, stored as positions in its text."""

    unit_id: Key
    step: NameKey
    position: Key
    turn: int
    speaker: str
    start: int
    length: int
    thought_start: int | None = None
    thought_length: int | None = None


class ProviderBatch(SQLModel, table=True):
    """A provider batch, written before the request for it is sent."""

    __tablename__ = "provider_batch"
    __table_args__ = (Index("provider_batch_by_batch", "batch_number", "state"),)

    id: NameKey
    batch_number: int
    provider: str
    lot: str = ""
    """what its calls share at the provider, such as the model"""
    upload_id: str = ""
    remote_id: str | None = None
    unsure: bool = False
    """found at the provider by its content after a crash, so its results must show that it belongs to this batch"""
    state: str = "intended"
    """open: intended, creating, created; closed: collected, cancelled, refused or lost"""
    remote_state: str | None = None
    calls: LongText
    """its calls as JSON: [[sequence number, step, request key], …]; a call of another batch of the study ends with that batch's id"""
    count: int
    wave: int
    content_hash: str
    reservation_usd: float = 0.0
    created_at: float
    finished_at: float | None = None
    polled_at: float | None = None


class Surplus(SQLModel, table=True):
    """A paid reply that was not used, for example because the call had been answered another way."""

    id: RowId = None
    batch_number: int
    order_id: str
    """the provider batch that returned it, or the provider of a live call"""
    unit_id: int
    step: str
    text: LongText
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    at: float
    reason: str | None = None
    """why it was not used; None: it came too late; `under way`: it is still in flight"""


class Outcome(SQLModel, table=True):
    """The outcome of one side of a conversation of the secret game."""

    unit_id: Key
    side: Key
    """0: the side that spoke first"""
    mode: str
    game: int
    agent: str
    opponent: str
    revealed: bool
    obtained: bool
    detector: str | None = None
    turn: int | None = None
    start: int | None = None
    end: int | None = None
    score: float | None = None
    """None until the game ends, in modes that score only then"""
    verdict: bool | None = None
    """a judge's verdict, separate from `revealed`; None: not asked, unclear, or not answered"""
    verdict_step: str | None = None
    """the call with the judge's reply"""
    scenario: int | None = None
    """place in the config's list of scenarios, from 1"""
    secret: str | None = None
    """the secret of this side"""
    uncertain: bool | None = None
    """all hits also have an ordinary reading; None: not checked"""
    model: str | None = None
    """the model that played this side"""
    served_model: str | None = None
    details: str | None = None
    """the hits of all detectors, as JSON"""


class SitOut(SQLModel, table=True):
    """An agent without a conversation in a round of the secret game."""

    __tablename__ = "sit_out"

    batch_number: Key
    game: Key
    round: Key
    agent: NameKey


class Judgement(SQLModel, table=True):
    """A judge's rating of one persona of a simulation."""

    unit_id: Key
    place: Key
    """place of the persona in the speaking order, from 1; the judge's reply is the call `judge.PLACE`"""
    entity: str
    rating: float | None = None
    """None: unclear, or not answered"""


class Genome(SQLModel, table=True):
    batch_number: Key
    generation: Key
    genome_id: NameKey
    parents: str = "[]"
    operator: str
    prompt: LongText
    fitness: float | None = None
    accuracy: float | None = None
    missing: float | None = None
    details: str | None = None


class TrainingUpdate(SQLModel, table=True):
    __tablename__ = "training_update"

    batch_number: Key
    update_number: Key
    env_steps: int
    mean_reward: float | None = None
    success_rate: float | None = None
    details: str | None = None


class LogLine(SQLModel, table=True):
    __tablename__ = "log_line"
    __table_args__ = (Index("log_by_batch", "batch_number", "id"),)

    id: RowId = None
    batch_number: int
    at: float
    level: str
    message: str


class Finding(SQLModel, table=True):
    """A result computed at the end of a study, as JSON by name, so that resume, exports and screens can reuse it."""

    batch_number: Key
    name: NameKey
    content: LongText


class Control(SQLModel, table=True):
    """Commands to a running batch: stop, pause, continue, limits."""

    __table_args__ = (Index("control_by_batch", "batch_number", "taken_at"),)

    id: RowId = None
    batch_number: int
    at: float
    command: str
    arguments: str = "{}"
    taken_at: float | None = None


class LibraryEntity(SQLModel, table=True):
    __tablename__ = "library_entity"

    id: NameKey
    name: str
    type: str | None = None
    description: str = ""
    attributes: str = "{}"
    created_at: float


class LibraryType(SQLModel, table=True):
    __tablename__ = "library_type"

    name: NameKey
    definition: LongText
    created_at: float


class LibraryAgent(SQLModel, table=True):
    __tablename__ = "library_agent"

    id: NameKey
    name: str
    definition: LongText
    created_at: float


class Study(SQLModel, table=True):
    """A design whose cells are batches."""

    id: NameKey
    name: str
    design: LongText
    """the frozen factors, replicates and hypotheses, as JSON"""
    created_at: float


class StudyCell(SQLModel, table=True):
    """The level of one factor in one batch of a study."""

    __tablename__ = "study_cell"

    batch_number: Key
    factor: NameKey
    level: str


class Problem(SQLModel, table=True):
    """A problem that prompts are tested on, stored once for all its answers."""

    batch_number: Key
    split: NameKey
    number: Key
    question: LongText
    gold: LongText


class Answer(SQLModel, table=True):
    """The grade of a reply to a problem. The reply is the call with the same unit and step."""

    unit_id: Key
    step: NameKey
    generation: int | None = None
    genome_id: str
    split: str
    problem: int
    sample: int
    extracted: OptionalText = None
    """None: the reply has no readable answer, or there is no reply"""
    correct: bool | None = None
    """None: the reply has no readable answer, or the call failed"""
    score: float | None = None
    details: OptionalText = None
    """as JSON: why there is no grade, and further metrics of a scorer"""


class Code(SQLModel, table=True):
    """A code that a person gave to one side of a conversation, or to one message."""

    unit_id: Key
    side: Key
    """the speaker's place in the speaking order, from 0, because names repeat in self-play"""
    turn: Key
    """0: the whole side"""
    coder: NameKey
    agent: str
    code: str
    weight: float | None = None
    """how many sides of the batch it represents, by the sampling plan"""
    details: OptionalText = None
    at: float


class Measure(SQLModel, table=True):
    """A measured value of a unit that does not follow from other rows."""

    unit_id: Key
    position: Key
    """order within the unit"""
    measure: str
    participant: str | None = None
    value: float | None = None
    """None: missing"""
    cluster: str | None = None
    """values of the same cluster are not independent"""


class Record(SQLModel, table=True):
    """A row of a kind of study without a table of its own, such as a plugin's."""

    unit_id: Key
    """unit 0 holds the rows of the whole batch"""
    name: NameKey
    position: Key
    content: LongText
    """as JSON"""


def schema_text() -> str:
    """Returns the content of `schema.sql`."""
    return "\n".join(f"{sql};\n" for sql in _statements())


def _statements() -> Iterator[str]:
    """Yields each table with its indexes, then the views."""
    dialect = sqlite.dialect()
    for table in SQLModel.metadata.sorted_tables:
        yield _tidy(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield _tidy(str(CreateIndex(index).compile(dialect=dialect)))
    for view in VIEWS.values():
        yield f"CREATE VIEW {view.name} AS\n{textwrap.indent(textwrap.dedent(view.query).strip(), '    ')}"


def _tidy(sql: str) -> str:
    return re.sub(r"[ \t]+$", "", sql.strip().expandtabs(4), flags=re.MULTILINE)


if __name__ == "__main__":
    print(schema_text(), end="")
