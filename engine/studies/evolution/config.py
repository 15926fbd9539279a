"""The section [evolution], and `Evolution`, which builds it in code."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.ceilings import Address, Share, Text, Times, Word
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.problems import WrongValue
from tidepool.engine.config.section import OneOf, Section
from tidepool.engine.config.sections import (
    ModelName,
    MostTokens,
    NonNegative,
    ReasoningEffort,
    ReasoningRoom,
    Study,
    Temperature,
)
from tidepool.engine.errors import UsageError
from tidepool.engine.registries import SCORERS
from tidepool.engine.studies.evolution.genome import seed_text
from tidepool.engine.trust.foreign_keys import NOT_TRUSTED

OWN_SCORER = rf"(?:{NOT_TRUSTED})?(?P<file>[^:\\\0]{{1,200}}\.py):(?P<function>[A-Za-z_]\w{{0,99}})"

ScorerName = Annotated[str, OneOf(SCORERS, extra_names=("",), like=OWN_SCORER)]
SeedPrompt = Annotated[Text, BeforeValidator(seed_text)]
PresetName = Literal["balanced", "conservative", "aggressive"]


class WeightSettings(Section):
    """What counts how much in a prompt's fitness."""

    accuracy: NonNegative = 0.70
    consistency: NonNegative = 0.15
    efficiency: NonNegative = 0.10
    diversity: NonNegative = 0.05


Several = Annotated[int | None, Field(examples=[10], ge=1, le=ceilings.ITEMS)]


class ProblemEntry(Section):
    question: Text
    answer: Text
    fields: dict[str, Any] = Field(default_factory=dict)
    """what else its row has"""


class FrozenProblems(Section):
    """The problems of a file, divided: taken in when a batch is made, so that it can be resumed anywhere."""

    training: list[ProblemEntry] = Field(max_length=ceilings.ITEMS)
    validation: list[ProblemEntry] = Field(max_length=ceilings.ITEMS)
    sources: dict[str, Address] = Field(default_factory=dict)
    """split → where its problems are from"""
    notes: list[Text] = Field(default_factory=list, max_length=ceilings.ITEMS)
    """what is doubtful about them, told before the run"""


class EvolutionSettings(Section):
    strategy: Literal["genetic", "reflective", "gepa", "random"] = "genetic"
    """genetic | reflective | gepa (extra) | random"""
    model: ModelName = Field(default="simulated:solver", title="Solving model")
    """who solves the problems …"""
    models: list[ModelName] = Field(
        default_factory=list,
        examples=[["simulated:solver", "simulated:other"]],
        max_length=ceilings.SERVERS,
        title="Several models",
    )
    """… or several: fitness by model and overall"""
    mutator: ModelName = Field(default="simulated:rewriter", title="Rewriting model")
    """who rewrites prompts; beside a real model it must be written, also where a simulated one is meant"""
    proposals: int = Field(default=8, ge=1, le=100)
    """that gepa makes at once, each on a parent and problems of its own"""
    preset: PresetName = "balanced"
    """the sizes below; keys written out win over it"""
    async_batch_size: Several = None
    """problems of a genome asked together"""
    max_concurrent_requests: Several = None
    """calls of a genome in flight"""
    genome_batch_size: Several = None
    """genomes evaluated together"""
    max_concurrent_genomes: Several = None
    """genomes evaluated at once"""
    rate_limit_per_minute: int | None = Field(default=None, examples=[600], ge=0, le=ceilings.PER_MINUTE)
    """stands for service.requests_per_minute"""
    async_timeout: float | None = Field(default=None, gt=0, le=ceilings.SECONDS, examples=[30.0])
    """seconds a live call may take, at most service.timeout; empty: service.timeout where it is written, else 30"""
    dynamic: bool = False
    """true: the sizes are ignored, the adaptive limiter alone decides"""
    enable_async_evaluation: bool = True
    """false: one call at a time, as a baseline to measure against"""
    population_size: int = Field(default=50, ge=2, le=10_000, title="Population")
    """genomes of a generation"""
    max_generations: int = Field(default=100, ge=1, le=ceilings.GENERATIONS, title="Generations")
    """the seed prompts are the first of them"""
    seed_prompts: list[SeedPrompt] = Field(
        default_factory=list, examples=[["Think step by step.", "Answer with a number."]], max_length=10_000
    )
    """prompts to start from; else some fifty that come with Tidepool. A prompt with {question} is the whole message; or { system = "…",
    user = "…{question}…" }; {names} of columns are filled in. Mutation inserts sentences of these prompts"""
    problems: Address = "arithmetic"
    """a built-in set, or a file (JSONL, CSV, Parquet) of questions and answers"""
    fields: dict[Word, Address] = Field(
        default_factory=dict, examples=[{"question": "prompt", "answer": "label"}], max_length=100, title="Columns"
    )
    """which columns of the files are what: { question = "prompt", answer = "label", choices = "options" }"""
    question_template: Text = ""
    """a question made of several columns: "{context}\\n\\n{question}\""""
    judge_from: Address = ""
    """a file of one's own for validation_problems; empty: a part of problems"""
    task: Literal["auto", "number", "choice", "label", "text", "judge"] = Field(default="auto", title="Answer type")
    """what a reply answers with: auto (a number or words, by the expected answer) | number | choice | label | text
    | judge (anything: a model marks it by a rubric)"""
    answer_form: Literal["line", "any"] = Field(default="line", title="Answer form")
    """line: every message ends with a sentence that asks for a line "Answer: …", and only a marked answer is read | any: nothing is
    asked for, and free replies are read by rules"""
    unclear: Literal["missing", "judge"] = Field(default="missing", title="Unclear replies")
    """replies without a readable answer: missing (on held-out problems neither right nor wrong, but bounded) | judge (the model in
    judge marks them)"""
    judge: ModelName = Field(default="simulated:judge", title="Judging model")
    """who marks replies where task = "judge", and unclear ones where unclear = "judge"; must be written like the mutator"""
    rubric: Text = ""
    """what the judge goes by; empty: how well the reply answers the question, by the expected answer where there is one"""
    labels: list[Text] = Field(default_factory=list, examples=[["yes", "no"]], max_length=100)
    """the labels of task = "label"; empty: the answers of the file"""
    max_problems: int = Field(default=100, ge=1, le=ceilings.ITEMS, title="Training problems")
    """problems that prompts are bred by"""
    validation_problems: int = Field(default=100, ge=1, le=ceilings.ITEMS, title="Held-out problems")
    """problems held out: they judge the champion and never choose it"""
    scorer: ScorerName = Field(default="", examples=["score.py:score"])
    """how a reply is marked: empty, by its task; or file.py:function, a scorer of your own in the folder of the config; or the
    name of a scorer of an installed package"""
    scorer_sha256: str = Field(default="", pattern=r"^(?:[0-9a-f]{64})?$")
    """of the scorer's file; Tidepool fills this in"""
    pass_mark: Share = 0.7
    """the score from which on a reply counts as correct, where a scorer or a judge gives scores"""
    marking_seconds: float = Field(default=10.0, gt=0, le=3600)
    """that a scorer of your own may take for one reply"""
    samples: Times = Field(default=1, title="Replies per problem")
    """replies per problem"""
    temperature: Temperature = 0.7
    """how freely the model samples"""
    max_tokens: MostTokens = 500
    """of a solution"""
    reasoning_effort: ReasoningEffort = ""
    """of every model in it: how much it thinks before it answers; empty: as much as it likes"""
    max_reasoning_tokens: ReasoningRoom = 0
    """room for reasoning beside max_tokens; 0: by the effort, none without one"""
    selection: Literal["tournament", "roulette", "rank", "sus", "elitist"] = "tournament"
    """how parents are chosen"""
    crossover: Literal["single_point", "two_point", "uniform", "blend"] = "single_point"
    """how two parents are joined, at segment level"""
    crossover_rate: Share = 0.8
    """share of children with two parents"""
    mutation_rate: Share = 0.2
    """chance that a segment of a child is changed"""
    elite_size: int = Field(default=5, ge=0, le=10_000, title="Elite prompts")
    """the best genomes that go on unchanged"""
    weights: WeightSettings = Field(default_factory=WeightSettings)
    """what fitness is made of"""
    target_fitness: float = Field(default=0.85, title="Stop at fitness")
    """stop when the best prompt is this fit"""
    stagnation: int = Field(default=20, ge=0, le=ceilings.UNITS, title="Stop without progress")
    """stop after so many generations without progress; 0 = never for that"""
    max_calls: int = Field(default=0, ge=0, le=ceilings.PER_MINUTE, title="Request limit")
    """stop before the search would take more calls than this; 0 = no such rule"""
    racing: bool = True
    """problems come in rungs, and the weaker half stops being asked after each"""
    seed_final: bool = True
    """after the search all seed prompts are asked more, so that the best of them is found with care; false: the best
    seed is the one that the search itself left over, and the gain is overstated"""
    random_baseline: bool = False
    """after the search, a random search with as many calls stands beside it"""
    frozen: FrozenProblems | None = None
    """the file's problems; Tidepool fills this in"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.models and "model" not in self.model_fields_set:
            self.model = self.models[0]  # stored explicitly, so that a frozen config does not depend on defaults
        if self.models and self.model not in self.models:
            raise WrongValue("model and models are both set, and they differ. Write only one of them", "models")
        if len(set(self.solvers())) < len(self.models):
            raise WrongValue("models lists a model twice", "models")
        if any(not prompt.strip() for prompt in self.seed_prompts):
            raise WrongValue("seed_prompts has an empty prompt", "seed_prompts")
        if "elite_size" in self.model_fields_set and self.elite_size >= self.population_size:
            message = (
                f"elite_size must be smaller than the population of {self.population_size}, to leave room for children"
            )
            raise WrongValue(message, "elite_size")
        if not any(self.weights.model_dump().values()):
            message = "evolution.weights are all 0, so all prompts would have the same fitness. Raise one of them."
            raise UsageError(message, ("evolution", "weights"))
        return self

    def solvers(self) -> tuple[str, ...]:
        """The models that solve the problems, as PROVIDER:MODEL."""
        return tuple(dict.fromkeys(resolve_model(name) for name in self.models or [self.model]))

    @property
    def judged(self) -> bool:
        """Whether a model scores the replies."""
        return self.task == "judge" and not self.scorer

    @property
    def asks_form(self) -> bool:
        return self.answer_form == "line" and self.task != "judge" and not self.scorer

    @property
    def judges_unclear(self) -> bool:
        """Whether a model scores the replies from which no answer can be read."""
        return self.unclear == "judge" and self.task != "judge" and not self.scorer

    def calls_of_problem(self, *, most: bool = False) -> int:
        """Requests to all solvers, and to the judge of their replies. `most`: no reply can be read."""
        return self.samples * len(self.solvers()) * (2 if self.judged or (most and self.judges_unclear) else 1)


class Evolution(EvolutionSettings, Study):
    """A prompt evolution built in code: improves prompts from generation to generation.

    Evolution(model="simulated:solver", population_size=20, seed=7)
    """

    settings_type = EvolutionSettings

    kind: Literal["evolution"] = "evolution"
    """always this kind"""
