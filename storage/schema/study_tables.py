"""Tables of what studies keep beside their calls, since version 2 of the file: designs, graded answers, hand codes, and
rows of any kind that a plugin brings."""

from sqlalchemy import Text
from sqlmodel import Field, SQLModel


class StudyTable(SQLModel, table=True):
    """A design whose cells are batches."""

    __tablename__ = "study"

    id: str = Field(primary_key=True)
    name: str
    design: str = Field(sa_type=Text)
    """factors, replicates and hypotheses as they were frozen, as JSON"""
    created_at: float


class StudyCellTable(SQLModel, table=True):
    """The level of one factor in one batch of a study."""

    __tablename__ = "study_cell"

    batch_number: int = Field(primary_key=True)
    factor: str = Field(primary_key=True)
    level: str


class ProblemTable(SQLModel, table=True):
    """A problem that prompts are tried on, kept once however many answers it gets."""

    __tablename__ = "problem"

    batch_number: int = Field(primary_key=True)
    split: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    question: str = Field(sa_type=Text)
    gold: str = Field(sa_type=Text)


class AnswerTable(SQLModel, table=True):
    """A reply to a problem as it was graded; the reply itself is the call of the same unit and step."""

    __tablename__ = "answer"

    unit_id: int = Field(primary_key=True)
    step: str = Field(primary_key=True)
    generation: int | None = None
    genome_id: str
    split: str
    problem: int
    sample: int
    extracted: str | None = Field(default=None, sa_type=Text)
    """None: no answer could be read from the reply, or there was none"""
    correct: bool | None = None
    """None: the call failed"""
    score: float | None = None
    details: str | None = Field(default=None, sa_type=Text)
    """further metrics of a scorer, as JSON"""


class CodeTable(SQLModel, table=True):
    """What a person said of one side of a conversation, or of one message of it."""

    __tablename__ = "code"

    unit_id: int = Field(primary_key=True)
    side: int = Field(primary_key=True)
    """of the speaker, from 0 in speaking order: in self-play a name is not enough"""
    turn: int = Field(primary_key=True)
    """0: the side as a whole"""
    coder: str = Field(primary_key=True)
    agent: str
    code: str
    weight: float | None = None
    """how many sides of the batch it stands for, by the sample's plan"""
    details: str | None = Field(default=None, sa_type=Text)
    at: float


class RecordTable(SQLModel, table=True):
    """A row of a kind of study that has no table of its own: a plugin adds none."""

    __tablename__ = "record"

    unit_id: int = Field(primary_key=True)
    """unit 0 of a batch holds what belongs to the batch as a whole"""
    name: str = Field(primary_key=True)
    position: int = Field(primary_key=True)
    content: str = Field(sa_type=Text)
    """as JSON"""
