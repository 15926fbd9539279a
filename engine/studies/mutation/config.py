"""The section [mutation], and `Mutation`, which builds it in code."""

from typing import Annotated, Literal, Self

from annotated_types import MaxLen
from pydantic import Field, field_validator, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.ceilings import Address, Share, Text, Times, Word
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS, resolve_model
from tidepool.engine.config.problems import WrongValue
from tidepool.engine.config.section import NamesModel, OneOf, Section
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
from tidepool.engine.registries import OPERATORS

OperatorName = Annotated[str, OneOf(OPERATORS)]
LearnerName = Literal["bandit", "ppo", "random"]
HASHING = "hashing"
EncoderName = Annotated[str, MaxLen(ceilings.WORD), NamesModel()]
"""hashing, or a model like any other"""


class WrittenQuery(Section):
    query: str = Field(min_length=1, max_length=ceilings.TEXT)
    reference: Text = ""
    kind: Word = ""


class MutationSettings(Section):
    target: ModelName = Field(default="simulated:target", title="Answering model")
    """the model whose answers are to become better, e.g. ollama:llama3.2"""
    mutator: ModelName = Field(default="simulated:rewriter", title="Rewriting model")
    """the model that rewrites queries; beside a real model it must be written, also where a simulated one is meant"""
    encoder: EncoderName = HASHING
    """hashing | ollama:nomic-embed-text | openai:text-embedding-3-small"""
    judge: ModelName = Field(default="simulated:judge", title="Judging model")
    """the model that grades answers, for the reward of that name; must be written like the mutator"""
    reward: Literal["keyword", "similarity", "judge"] = "similarity"
    """keyword | similarity | judge"""
    success: float = Field(default=0.7, gt=0, le=1, title="Success threshold")
    """reward at which an episode ends well"""
    queries: Address = "builtin"
    """or a file (JSONL, CSV, Parquet) with the columns query and reference"""
    heldout: float = Field(default=0.2, gt=0, lt=1, title="Held-out share")
    """share of queries kept for the final comparison"""
    learner: LearnerName = "bandit"
    """bandit (built in) | ppo (extra `rl`) | random"""
    policy: Address = ""
    """a policy file: evaluate it instead of learning"""
    num_processes: int = Field(default=16, ge=1, le=10_000, title="Episodes at once")
    """environments that step together"""
    num_steps: int = Field(default=32, ge=1, le=100_000, title="Steps per update")
    """steps of each environment between two updates"""
    num_env_steps: int = Field(default=10_000, ge=1, le=100_000_000, title="Total steps")
    """answered steps in all: the budget of learning"""
    ppo_epoch: Times = Field(default=4, title="PPO epochs")
    """passes over each rollout (ppo)"""
    num_mini_batch: int = Field(default=4, ge=1, le=10**9, title="Mini-batches")
    """minibatches of a pass (ppo)"""
    learning_rate: float = Field(default=3e-4, gt=0, allow_inf_nan=False)
    """step size (ppo)"""
    gamma: Share = 0.99
    """how much later rewards count"""
    gae_lambda: Share = Field(default=0.95, title="GAE lambda")
    """smoothing of the advantages (ppo)"""
    clip: float = Field(default=0.2, gt=0, allow_inf_nan=False)
    """most a policy may move in an update (ppo)"""
    entropy: NonNegative = 0.01
    """reward for staying undecided (ppo)"""
    episode_length: Times = Field(default=5, title="Steps per episode")
    """rewritings of one query at most"""
    use_batching: bool = True
    """false: one environment after another, to measure the gain"""
    operators: list[OperatorName] = list(OPERATORS.builtin)
    """what a learner chooses from; installed packages may add some"""
    on_error: Literal["mask", "refusal"] = Field(default="mask", title="Failed requests")
    """mask | refusal: what becomes of a step whose answer is lost"""
    baselines: list[Literal["random", "bandit"]] | None = Field(default=None, examples=[["random"]])
    """learners that play the same budget beside; unless written, those simpler than the learner: ["random"], and for
    ppo ["random", "bandit"]"""
    repeats: Times = 2
    """episodes of each contender on each held-out query"""
    temperature: Temperature = 0.7
    """of the target and the mutator"""
    max_tokens: MostTokens = 300
    """most tokens of an answer"""
    reasoning_effort: ReasoningEffort = ""
    """of every model in it: how much it thinks before it answers; empty: as much as it likes"""
    max_reasoning_tokens: ReasoningRoom = 0
    """room for reasoning beside max_tokens; 0: by the effort, none without one"""
    query_list: list[WrittenQuery] = Field(default_factory=list, max_length=ceilings.ITEMS)
    """the queries themselves; taken in from `queries` when the batch starts"""
    policy_content: str = Field(default="", max_length=ceilings.FILE_BYTES)
    """the policy file itself, in base64; taken in from `policy` when the batch starts"""

    @field_validator("operators")
    @classmethod
    def _several(cls, operators: list[str]) -> list[str]:
        if len(operators) < 2 or len(set(operators)) < len(operators):
            raise ValueError("list at least two operators, each once")
        return operators

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.encoder != HASHING:
            self._check_encoder()
        if self.num_mini_batch > self.num_processes * self.num_steps:
            message = "num_mini_batch must not exceed num_processes × num_steps, the steps of an update"
            raise WrongValue(message, "num_mini_batch")
        return self

    def _check_encoder(self) -> None:
        try:
            provider = resolve_model(self.encoder).partition(":")[0]
        except UsageError as error:
            raise WrongValue(str(error), "encoder") from None
        if provider in KNOWN_ENDPOINTS and KNOWN_ENDPOINTS[provider].like == "anthropic":
            raise WrongValue(f"{provider} has no embeddings. Set encoder to {HASHING}, ollama:… or openai:…", "encoder")

    @property
    def has_file_contents(self) -> bool:
        """Whether the contents of its files are in the config itself."""
        return bool(self.query_list) and (not self.policy or bool(self.policy_content))

    def stated_baselines(self) -> list[str]:
        """Learners that run besides the chosen one; empty if a policy is only evaluated."""
        if self.policy or self.policy_content:
            return []
        simpler = {"bandit": ["random"], "ppo": ["random", "bandit"], "random": []}[self.learner]
        wanted = simpler if self.baselines is None else self.baselines
        return [name for name in dict.fromkeys(wanted) if name != self.learner]


class Mutation(MutationSettings, Study):
    """A query mutation built in code: a policy learns which rewriting of a query improves the answer.

    Mutation(target="ollama:llama3.2", learner="bandit")
    """

    settings_type = MutationSettings

    kind: Literal["mutation"] = "mutation"
    """always this kind"""
