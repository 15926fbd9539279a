"""The tables of a study file, as SQLModel classes: the only description of them.

Every statement that writes is built from these classes (`storage/writer.py`, `storage/db.py`). `schema.sql`, from which a new file is made and
against which a file is checked when it is opened, is generated from them and from the views, because importing SQLModel
takes half a second and commands that only read do without:

    python -m tidepool.storage.tables > storage/schema.sql

A unit's id holds its batch and its place there (`storage/states.py`). Times are seconds since 1970. Other programs read
the views (`views.py`), never these tables. A later version adds its columns at the end of a table, as SQLite does.
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
    """a number is never used again: whoever still runs a batch that was deleted must not write into another one"""

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
    """an imported batch is read and resumed like any other, but never serves as cache"""
    config: LongText
    """the resolved config, frozen: resume needs nothing else"""
    version: str
    host: str | None = None
    created_at: float
    finished_at: float | None = None
    stop_code: str | None = None
    """why it stopped, for programs; `reason` beside it is for people"""
    study_id: str | None = None
    """the study of several batches that it is a part of"""
    replicate: int | None = None
    origin: OptionalText = None
    """where a branch was taken from, as JSON"""
    headline: OptionalText = None
    """its one figure at its end, as JSON: a list of batches computes nothing"""


class Progress(SQLModel, table=True):
    """Running counters of a batch: all that a watcher reads several times a second."""

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
    """answers whose price is unknown: then the cost is unknown too"""
    seconds: float = 0.0
    """how long the batch has been running, over all its sessions"""
    call_seconds: float = 0.0
    peak_concurrency: int = 0
    heartbeat: int = 0
    """ticks while a process runs the batch; a copy of the file does not tick"""
    heartbeat_at: float = 0.0
    in_flight: str = "[]"
    """some of the calls under way, as [sequence number, wave] pairs"""
    limits: str = "{}"
    """what rules the calls at the moment, for watchers"""
    in_flight_usd: float = 0.0
    """what the calls under way may cost: spent, perhaps, if the process dies now"""
    reasoning_tokens: int = 0
    cut: int = 0
    """replies that reached their length limit"""
    unusable: int = 0
    """replies that were paid for and are no answers"""
    usage_missing: int = 0
    """replies without believable usage, counted at the most they can have cost"""


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
    """its outcome was read by another unit, so a failure in it is never reopened"""
    started_at: float | None = None
    finished_at: float | None = None
    details: str | None = None
    """what a study keeps of a unit beside its calls, as JSON"""


class Call(SQLModel, table=True):
    """The ledger: one row for each answered, or finally failed, call."""

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
    """why the reply ended, in our words; None: not recorded"""
    served_model: str | None = None
    """the model that the provider says has answered"""
    thought: OptionalText = None
    """reasoning that came with the reply and was not said"""
    reasoning_tokens: int = 0
    """a part of the output tokens"""
    usage_missing: bool = False
    """the provider gave no believable usage: tokens and cost are the worst case"""
    seal: bytes | None = Field(default=None, sa_column=Column(LargeBinary))
    """in a batch that runs code: a keyed hash of the text, by which its user knows the reply again"""


class Prompt(SQLModel, table=True):
    """Each distinct system prompt once, so that published talks stay readable."""

    hash: bytes = Field(sa_column=Column(LargeBinary, primary_key=True))
    text: LongText


class Line(SQLModel, table=True):
    """A message that is a part of a reply: spans of it, so the text is stored once."""

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
    """A provider batch, written before the provider is asked for it."""

    __tablename__ = "provider_batch"
    __table_args__ = (Index("provider_batch_by_batch", "batch_number", "state"),)

    id: NameKey
    batch_number: int
    provider: str
    lot: str = ""
    """what its calls have in common at the provider, such as their model"""
    upload_id: str = ""
    remote_id: str | None = None
    unsure: bool = False
    """recognised by its looks after a crash: its results must prove that it is ours"""
    state: str = "intended"
    """intended, creating, created; closed: collected, cancelled, refused or lost"""
    remote_state: str | None = None
    calls: LongText
    """its calls as JSON: [[sequence number, step, key of what is asked], …], behind those of another batch of its study that one's id"""
    count: int
    wave: int
    content_hash: str
    reservation_usd: float = 0.0
    created_at: float
    finished_at: float | None = None
    polled_at: float | None = None


class Surplus(SQLModel, table=True):
    """A reply that was paid for and not used, such as one to a call that had been answered another way."""

    id: RowId = None
    batch_number: int
    order_id: str
    """the provider batch that brought it; of a live call its provider"""
    unit_id: int
    step: str
    text: LongText
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    at: float
    reason: str | None = None
    """why it was not used; None: it came too late; `under way`: it has not come yet"""


class Outcome(SQLModel, table=True):
    """What one side of a conversation of the secret game came to."""

    unit_id: Key
    side: Key
    """0: the one who opened"""
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
    """None until the game ends, in modes whose points are known only then"""
    verdict: bool | None = None
    """a judge's, kept apart from `revealed`; None: not asked, no clear answer, or none at all"""
    verdict_step: str | None = None
    """the call that holds the judge's words"""
    scenario: int | None = None
    """its place in the config's list of scenarios, from 1"""
    secret: str | None = None
    """what this side was to keep"""
    uncertain: bool | None = None
    """the only hits are ordinary readings as well; None: it was not looked at"""
    model: str | None = None
    """that played this side"""
    served_model: str | None = None
    details: str | None = None
    """every detector's hits, as JSON"""


class SitOut(SQLModel, table=True):
    """An agent without a conversation in a round of the secret game."""

    __tablename__ = "sit_out"

    batch_number: Key
    game: Key
    round: Key
    agent: NameKey


class Judgement(SQLModel, table=True):
    """What a judge said of one entity of a simulation."""

    unit_id: Key
    place: Key
    """of the entity in the speaking order, from 1; the judge's words are the call `judge.PLACE`"""
    entity: str
    rating: float | None = None
    """None: no clear rating, or no answer"""


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
    """What a study worked out at its end, as JSON by name: resume, exports and screens need not redo it."""

    batch_number: Key
    name: NameKey
    content: LongText


class Control(SQLModel, table=True):
    """Words to a running batch: stop, pause, continue, limits."""

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
    """factors, replicates and hypotheses as they were frozen, as JSON"""
    created_at: float


class StudyCell(SQLModel, table=True):
    """The level of one factor in one batch of a study."""

    __tablename__ = "study_cell"

    batch_number: Key
    factor: NameKey
    level: str


class Problem(SQLModel, table=True):
    """A problem that prompts are tried on, kept once however many answers it gets."""

    batch_number: Key
    split: NameKey
    number: Key
    question: LongText
    gold: LongText


class Answer(SQLModel, table=True):
    """A reply to a problem as it was graded; the reply itself is the call of the same unit and step."""

    unit_id: Key
    step: NameKey
    generation: int | None = None
    genome_id: str
    split: str
    problem: int
    sample: int
    extracted: OptionalText = None
    """None: no answer could be read from the reply, or there was none"""
    correct: bool | None = None
    """None: no answer could be read from the reply, or the call failed"""
    score: float | None = None
    details: OptionalText = None
    """as JSON: why there is no mark, and further metrics of a scorer"""


class Code(SQLModel, table=True):
    """What a person said of one side of a conversation, or of one message of it."""

    unit_id: Key
    side: Key
    """of the speaker, from 0 in speaking order: in self-play a name is not enough"""
    turn: Key
    """0: the side as a whole"""
    coder: NameKey
    agent: str
    code: str
    weight: float | None = None
    """how many sides of the batch it stands for, by the sample's plan"""
    details: OptionalText = None
    at: float


class Measure(SQLModel, table=True):
    """A value that a unit measured, where it does not follow from other rows."""

    unit_id: Key
    position: Key
    """in the order in which the unit measured"""
    measure: str
    participant: str | None = None
    value: float | None = None
    """None: it could not be measured"""
    cluster: str | None = None
    """values with the same one are not independent"""


class Record(SQLModel, table=True):
    """A row of a kind of study that has no table of its own: a plugin adds none."""

    unit_id: Key
    """unit 0 of a batch holds what belongs to the batch as a whole"""
    name: NameKey
    position: Key
    content: LongText
    """as JSON"""


def schema_text() -> str:
    """The content of `schema.sql`: each table with its indexes, then the views."""
    return "\n".join(f"{sql};\n" for sql in (*_table_statements(), *_view_statements()))


def _table_statements() -> Iterator[str]:
    dialect = sqlite.dialect()
    for table in SQLModel.metadata.sorted_tables:
        yield _tidy(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield _tidy(str(CreateIndex(index).compile(dialect=dialect)))


def _view_statements() -> Iterator[str]:
    for view in VIEWS.values():
        yield f"CREATE VIEW {view.name} AS\n{textwrap.indent(textwrap.dedent(view.query).strip(), '    ')}"


def _tidy(sql: str) -> str:
    return re.sub(r"[ \t]+$", "", sql.strip().expandtabs(4), flags=re.MULTILINE)


if __name__ == "__main__":
    print(schema_text(), end="")
