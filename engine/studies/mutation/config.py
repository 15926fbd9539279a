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
    """the model whose replies should improve, such as ollama:llama3.2"""
    mutator: ModelName = Field(default="simulated:rewriter", title="Rewriting model")
    """the model that rewrites queries; must be set if another model is real"""
    encoder: EncoderName = HASHING
    """hashing, or a model such as ollama:nomic-embed-text or openai:text-embedding-3-small"""
    judge: ModelName = Field(default="simulated:judge", title="Judging model")
    """the model that scores replies with reward = "judge"; must be set like the mutator"""
    reward: Literal["keyword", "similarity", "judge"] = "similarity"
    """keyword, similarity or judge"""
    success: float = Field(default=0.7, gt=0, le=1, title="Success threshold")
    """reward from which an episode succeeds"""
    queries: Address = "builtin"
    """builtin, or a file (JSONL, CSV, Parquet) with the columns query and reference"""
    heldout: float = Field(default=0.2, gt=0, lt=1, title="Held-out share")
    """share of queries held out for the final comparison"""
    learner: LearnerName = "bandit"
    """bandit (built in), ppo (extra `rl`) or random"""
    policy: Address = ""
    """a policy file to evaluate, instead of learning"""
    num_processes: int = Field(default=16, ge=1, le=10_000, title="Episodes at once")
    """environments that step together"""
    num_steps: int = Field(default=32, ge=1, le=100_000, title="Steps per update")
    """steps of each environment between two updates"""
    num_env_steps: int = Field(default=10_000, ge=1, le=100_000_000, title="Total steps")
    """answered steps in total, which is the budget of learning"""
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
    """maximum change of the policy in an update (ppo)"""
    entropy: NonNegative = 0.01
    """reward for exploring (ppo)"""
    episode_length: Times = Field(default=5, title="Steps per episode")
    """maximum rewrites of one query"""
    use_batching: bool = True
    """false: one environment after another, to measure the gain"""
    operators: list[OperatorName] = list(OPERATORS.builtin)
    """rewrites that a learner chooses from; installed packages can add some"""
    on_error: Literal["mask", "refusal"] = Field(default="mask", title="Failed requests")
    """a step without a reply: mask (left out) or refusal (reward 0)"""
    baselines: list[Literal["random", "bandit"]] | None = Field(default=None, examples=[["random"]])
    """learners with the same budget, for comparison; else the simpler ones: ["random"], with ppo ["random", "bandit"]"""
    repeats: Times = 2
    """episodes of each policy on each held-out query"""
    temperature: Temperature = 0.7
    """sampling temperature of the target and the mutator; "none": the provider's default"""
    max_tokens: MostTokens = 300
    """maximum tokens of a reply"""
    reasoning_effort: ReasoningEffort = ""
    """reasoning effort of all models in the study; empty: the model's default"""
    max_reasoning_tokens: ReasoningRoom = 0
    """reasoning tokens in addition to max_tokens; 0: set by the effort, and none without an effort"""
    query_list: list[WrittenQuery] = Field(default_factory=list, max_length=ceilings.ITEMS)
    """the queries; read from `queries` when the batch starts"""
    policy_content: str = Field(default="", max_length=ceilings.FILE_BYTES)
    """the policy file in base64; read from `policy` when the batch starts"""

    @field_validator("operators")
    @classmethod
    def _several(cls, operators: list[str]) -> list[str]:
        if len(operators) < 2 or len(set(operators)) < len(operators):
            raise ValueError("list at least two operators, each once")
        return operators

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        provider = ""
        if self.encoder != HASHING:
            try:
                provider = resolve_model(self.encoder).partition(":")[0]
            except UsageError as error:
                raise WrongValue(str(error), "encoder") from None
        if provider in KNOWN_ENDPOINTS and KNOWN_ENDPOINTS[provider].like == "anthropic":
            raise WrongValue(f"{provider} has no embeddings. Set encoder to {HASHING}, ollama:… or openai:…", "encoder")
        if self.num_mini_batch > self.num_processes * self.num_steps:
            message = "num_mini_batch must not exceed num_processes × num_steps, the steps of an update"
            raise WrongValue(message, "num_mini_batch")
        return self

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
