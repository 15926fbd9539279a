"""The environments' waves as calls of the batch: asked once, committed, and replayed when a batch is resumed.

A wave's number is that of its environment step and stage. What belongs to an episode is asked by its unit, the one
embedding request of a step by the study itself.
"""

from collections.abc import Sequence
from itertools import count

from tidepool.engine.call import Call, Message
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.environment.encoders import HashingEncoder, Vectors, read_vectors
from tidepool.engine.studies.mutation.environment.episode_book import TARGET, EpisodeBook, rewrite_step
from tidepool.engine.studies.mutation.environment.transport import ANSWER, JUDGE, REWRITE, PromptRequest

EMBED = "embed"
JUDGE_TOKENS = 20
FORMS = {REWRITE: "query", JUDGE: "score"}


def stages_of(settings: MutationSettings) -> list[str]:
    """The stages of an environment step, in order: what it sees first, what it is worth last."""
    seeing = [EMBED] if settings.encoder != HASHING else []
    return [*seeing, REWRITE, ANSWER, *([JUDGE] if settings.reward == "judge" else [])]


class LedgerTransport:
    def __init__(
        self, run: BatchRun, settings: MutationSettings, book: EpisodeBook, *, branching: bool = False
    ) -> None:
        """`branching`: whoever goes on may ask something else than before, and is then asked for anew."""
        self._run = run
        self._branching = branching
        self._settings = settings
        self._book = book
        self._stages = stages_of(settings)
        self._models = {
            REWRITE: resolve_model(settings.mutator),
            ANSWER: resolve_model(settings.target),
            JUDGE: resolve_model(settings.judge) if settings.reward == "judge" else "",
        }
        self._hashing = HashingEncoder() if settings.encoder == HASHING else None
        self._dimensions = 0
        self.fresh = False
        """whether anything was asked that the ledger did not know"""

    async def ask(self, stage: str, moment: int, requests: Sequence[PromptRequest]) -> Sequence[str | None]:
        wave = self._wave(stage, moment)
        calls = [self._call(stage, wave, request) for request in requests]
        asked = [(self._book.open(request.place, call), call) for request, call in zip(requests, calls, strict=True)]
        replies = await self._run.all([self._reply(unit, call) for unit, call in asked])
        if stage == REWRITE:
            for request, reply in zip(requests, replies, strict=True):
                if reply is not None:
                    self._book.note_rewrite(request.place.serial, request.place.step, reply)
        return replies

    async def embed(self, name: str, moment: int, texts: Sequence[str], *, needed: bool = False) -> Vectors | None:
        if self._hashing is not None:
            return self._hashing.encode(texts)
        for attempt in count(1):
            step = f"{name}/embed" if attempt == 1 else f"{name}/embed/{attempt}"
            call = self._embedding(step, self._wave(EMBED, moment), texts)
            branches = count(2)
            while self._branching and self._run.study.contradicts(call):
                call = call._replace(step=f"{step}~{next(branches)}")
            replayed = self._run.study.remembers(call.step)
            reply = await self._reply(self._run.study, call)
            vectors = None if reply is None else self._read(reply, len(texts))
            if vectors is not None or not needed or not replayed:
                break
        return vectors

    def _read(self, reply: str, texts: int) -> Vectors | None:
        """All vectors of a study are of one length: an encoder that changes its mind is not believed."""
        vectors = read_vectors(reply, texts)
        if vectors is None or (self._dimensions and vectors.shape[1] != self._dimensions):
            return None
        self._dimensions = vectors.shape[1]
        return vectors

    def _wave(self, stage: str, moment: int) -> int:
        return (moment - 1) * len(self._stages) + self._stages.index(stage) + 1

    async def _reply(self, unit: Unit, call: Call) -> str | None:
        """None: lost for good. Counted as missing; the episode's own rules say what becomes of it."""
        self.fresh = self.fresh or not unit.remembers(call.step)
        try:
            return (await unit.ask(call)).text
        except CallFailed:
            return None

    def _call(self, stage: str, wave: int, request: PromptRequest) -> Call:
        step = request.place.step
        names = {REWRITE: rewrite_step(step), ANSWER: f"s{step + 1}/answer", JUDGE: f"s{step + 1}/judge"}
        return Call(
            step=names[stage],
            wave=wave,
            model=self._models[stage],
            messages=request.prompt.messages,
            system=request.prompt.system,
            temperature=0.0 if stage == JUDGE else self._settings.temperature,
            max_tokens=JUDGE_TOKENS if stage == JUDGE else self._settings.max_tokens,
            speaker=TARGET if stage == ANSWER else None,
            turn=2 * step + 2 if stage == ANSWER else None,
            form=FORMS.get(stage, ""),
            **reasoning_of(self._settings),
        )

    def _embedding(self, step: str, wave: int, texts: Sequence[str]) -> Call:
        return Call(
            step=step,
            wave=wave,
            model=resolve_model(self._settings.encoder),
            messages=tuple(Message("user", text) for text in texts),
            max_tokens=0,
            operation=EMBED,
        )
