"""The simulated models behind a mutation environment, in this process and without the engine: no ledger, no
waiting.

`losing` says how likely a target call
is lost after each operator's mark, so that what an outage does to learning can be shown.
"""

from collections.abc import Callable, Sequence

from tidepool.engine.call import Message, seed_of
from tidepool.engine.simulated.mutation import answer_query, judge_answer, rewrite_query
from tidepool.engine.studies.mutation.environment import ANSWER, JUDGE, REWRITE, PromptRequest
from tidepool.engine.studies.mutation.rewards import HashingEncoder, Vectors

_RESPONDERS = {REWRITE: rewrite_query, ANSWER: answer_query, JUDGE: judge_answer}
_MODELS = {REWRITE: "rewriter", ANSWER: "target", JUDGE: "judge"}

Losing = Callable[[str], float]
"""the text of a query → the chance that the target's answer to it is lost"""


class OfflineTransport:
    def __init__(self, seed: int, losing: Losing | None = None) -> None:
        self._seed = seed
        self._losing = losing
        self._encoder = HashingEncoder()
        self.waves: list[tuple[str, int]] = []
        """what was asked, in order: the stage, or `embed`, and how many prompts or texts"""

    async def ask(self, stage: str, moment: int, requests: Sequence[PromptRequest]) -> Sequence[str | None]:
        self.waves.append((stage, len(requests)))
        return [self._reply(stage, request) for request in requests]

    async def embed(self, name: str, moment: int, texts: Sequence[str], *, needed: bool = False) -> Vectors | None:
        self.waves.append(("embed", len(texts)))
        return self._encoder.encode(texts)

    def _reply(self, stage: str, request: PromptRequest) -> str | None:
        episode = request.episode
        seed = seed_of(self._seed, stage, episode.environment, episode.number, episode.steps)
        if stage == ANSWER and self._losing is not None:
            chance = self._losing(request.text)
            if seed_of(seed, "lost") % 10_000 < chance * 10_000:
                return None
        return _RESPONDERS[stage](_MODELS[stage], request.system, [Message("user", request.text)], seed).text
