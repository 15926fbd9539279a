"""What an environment asks of the outside: waves of prompts, and one embedding request a step.

The environment is written once, as coroutines. Behind a transport that really waits (the engine's) they run
on a loop; behind one that answers at once (tests, trials, Gymnasium's synchronous calls) `finished` runs them
to their end.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tidepool.engine.studies.mutation.environment.encoders import Vectors
from tidepool.engine.studies.mutation.operators import OperatorPrompt

REWRITE, ANSWER, JUDGE = "rewrite", "answer", "judge"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where in the study a prompt belongs: the address of its call."""

    environment: int
    episode: int
    """of this environment, from 0"""
    step: int
    """of this episode, from 0"""
    serial: int
    """of all episodes, in the order of their first steps, from 1"""


@dataclass(frozen=True, slots=True)
class PromptRequest:
    place: CallPlace
    prompt: OperatorPrompt


class PromptTransport(Protocol):
    """`moment` is the number of the environment step a request belongs to; what is embedded after one step
    belongs to the next, which sees it.
    """

    async def ask(self, stage: str, moment: int, requests: Sequence[PromptRequest]) -> Sequence[str | None]:
        """One wave: the replies in order, None for one lost for good. Stages: rewrite, answer, judge."""
        ...

    async def embed(self, name: str, moment: int, texts: Sequence[str], *, needed: bool = False) -> Vectors | None:
        """One request: a unit vector a text, or None when lost for good. The name is unique in a run. `needed`:
        without it the run stops, so whoever takes the run up again asks it anew.
        """
        ...


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("this transport waits: run it on an event loop")
