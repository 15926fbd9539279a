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
    """correct replies"""
    consistency: NonNegative = 0.15
    """agreement of the samples"""
    efficiency: NonNegative = 0.10
    """short replies"""
    diversity: NonNegative = 0.05
    """distance to the other prompts"""


Several = Annotated[int | None, Field(examples=[10], ge=1, le=ceilings.ITEMS)]


class ProblemEntry(Section):
    question: Text
    answer: Text
    fields: dict[str, Any] = Field(default_factory=dict)
    """other columns of its row"""


class FrozenProblems(Section):
    """The problems of a file, divided: taken in when a batch is made, so that it can be resumed anywhere."""

    training: list[ProblemEntry] = Field(max_length=ceilings.ITEMS)
    validation: list[ProblemEntry] = Field(max_length=ceilings.ITEMS)
    sources: dict[str, Address] = Field(default_factory=dict)
    """split → the source of its problems"""
    notes: list[Text] = Field(default_factory=list, max_length=ceilings.ITEMS)
    """doubts about the problems, shown before the run"""


class EvolutionSettings(Section):
    strategy: Literal["genetic", "reflective", "gepa", "random"] = "genetic"
    """genetic, reflective, gepa (extra) or random"""
    model: ModelName = Field(default="simulated:solver", title="Solving model")
    """the model that solves the problems"""
    models: list[ModelName] = Field(
        default_factory=list,
        examples=[["simulated:solver", "simulated:other"]],
        max_length=ceilings.SERVERS,
        title="Several models",
    )
    """several models that solve the problems; fitness by model and overall"""
    mutator: ModelName = Field(default="simulated:rewriter", title="Rewriting model")
    """the model that rewrites prompts; must be set if another model is real"""
    proposals: int = Field(default=8, ge=1, le=100)
    """gepa: proposals at once, each with its own parent and problems"""
    preset: PresetName = "balanced"
    """sizes for the next keys; keys that you set take precedence"""
    async_batch_size: Several = None
    """problems of a genome requested together"""
    max_concurrent_requests: Several = None
    """requests of a genome in flight"""
    genome_batch_size: Several = None
    """genomes evaluated together"""
    max_concurrent_genomes: Several = None
    """genomes evaluated at once"""
    rate_limit_per_minute: int | None = Field(default=None, examples=[600], ge=0, le=ceilings.PER_MINUTE)
    """used as service.requests_per_minute"""
    async_timeout: float | None = Field(default=None, gt=0, le=ceilings.SECONDS, examples=[30.0])
    """maximum seconds of a live request, at most service.timeout; else service.timeout if it is set, or 30"""
    dynamic: bool = False
    """true: ignore the sizes and use only the adaptive limit"""
    enable_async_evaluation: bool = True
    """false: one request at a time, as a baseline for speed"""
    population_size: int = Field(default=50, ge=2, le=10_000, title="Population")
    """genomes of a generation"""
    max_generations: int = Field(default=100, ge=1, le=ceilings.GENERATIONS, title="Generations")
    """maximum of generations; the first one has the seed prompts"""
    seed_prompts: list[SeedPrompt] = Field(
        default_factory=list, examples=[["Think step by step.", "Answer with a number."]], max_length=10_000
    )
    """prompts to start from; else some fifty built-in ones. A prompt with {question} is the whole message; or {
    system = "…", user = "…{question}…" }; {names} of columns are filled in. Mutation inserts sentences of these
    prompts"""
    problems: Address = "arithmetic"
    """a built-in set, or a file (JSONL, CSV, Parquet) of questions and answers"""
    fields: dict[Word, Address] = Field(
        default_factory=dict, examples=[{"question": "prompt", "answer": "label"}], max_length=100, title="Columns"
    )
    """columns of your files: { question = "prompt", answer = "label", choices = "options" }"""
    question_template: Text = ""
    """a question made from several columns: "{context}\\n\\n{question}\""""
    judge_from: Address = ""
    """a separate file for validation_problems; empty: a part of problems"""
    task: Literal["auto", "number", "choice", "label", "text", "judge"] = Field(default="auto", title="Answer type")
    """the type of answer: auto (a number or words, by the expected answer), number, choice, label, text, or judge
    (anything; a model scores it by a rubric)"""
    answer_form: Literal["line", "any"] = Field(default="line", title="Answer form")
    """line: every message asks for a line "Answer: …", and only a marked answer is read; any: nothing is added, and
    free replies are read by rules"""
    unclear: Literal["missing", "judge"] = Field(default="missing", title="Unclear replies")
    """replies without a readable answer: missing (on held-out problems neither right nor wrong, with bounds) or
    judge (the judge scores them)"""
    judge: ModelName = Field(default="simulated:judge", title="Judging model")
    """the model that scores replies with task = "judge", and unclear ones with unclear = "judge"; must be set like the mutator"""
    rubric: Text = ""
    """how the judge scores; empty: how well the reply answers the question, by the expected answer if there is one"""
    labels: list[Text] = Field(default_factory=list, examples=[["yes", "no"]], max_length=100)
    """the labels of task = "label"; empty: the answers of the file"""
    max_problems: int = Field(default=100, ge=1, le=ceilings.ITEMS, title="Training problems")
    """problems of the search"""
    validation_problems: int = Field(default=100, ge=1, le=ceilings.ITEMS, title="Held-out problems")
    """held-out problems, which test the champion and never choose it"""
    scorer: ScorerName = Field(default="", examples=["score.py:score"])
    """how a reply is scored: empty, by its task; file.py:function, your own scorer in the folder of the config; or
    the name of a scorer of an installed package"""
    scorer_sha256: str = Field(default="", pattern=r"^(?:[0-9a-f]{64})?$")
    """hash of the scorer's file; set by Tidepool"""
    pass_mark: Share = 0.7
    """the score from which a reply counts as correct, with a scorer or a judge"""
    marking_seconds: float = Field(default=10.0, gt=0, le=3600)
    """maximum seconds of your own scorer for one reply"""
    samples: Times = Field(default=1, title="Replies per problem")
    """replies per problem"""
    temperature: Temperature = 0.7
    """sampling temperature; "none": the provider's default"""
    max_tokens: MostTokens = 500
    """maximum tokens of a solution"""
    reasoning_effort: ReasoningEffort = ""
    """reasoning effort of all models in the study; empty: the model's default"""
    max_reasoning_tokens: ReasoningRoom = 0
    """reasoning tokens in addition to max_tokens; 0: set by the effort, and none without an effort"""
    selection: Literal["tournament", "roulette", "rank", "sus", "elitist"] = "tournament"
    """how parents are chosen"""
    crossover: Literal["single_point", "two_point", "uniform", "blend"] = "single_point"
    """how two parents are combined, by segments"""
    crossover_rate: Share = 0.8
    """share of children with two parents"""
    mutation_rate: Share = 0.2
    """probability that a segment of a child changes"""
    elite_size: int = Field(default=5, ge=0, le=10_000, title="Elite prompts")
    """best genomes that stay unchanged"""
    weights: WeightSettings = Field(default_factory=WeightSettings)
    """weights of the parts of fitness"""
    target_fitness: float = Field(default=0.85, title="Stop at fitness")
    """stop when the best prompt has this fitness"""
    stagnation: int = Field(default=20, ge=0, le=ceilings.UNITS, title="Stop without progress")
    """stop after this many generations without progress; 0: never"""
    max_calls: int = Field(default=0, ge=0, le=ceilings.PER_MINUTE, title="Request limit")
    """stop before the search exceeds this many requests; 0: no limit"""
    racing: bool = True
    """send problems in steps, and drop the weaker half of the prompts after each"""
    seed_final: bool = True
    """after the search, test all seed prompts on more problems to find the best; false: compare with the best seed
    of the search, which overstates the gain"""
    random_baseline: bool = False
    """after the search, compare with a random search with as many requests"""
    frozen: FrozenProblems | None = None
    """the file's problems; set by Tidepool"""

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
