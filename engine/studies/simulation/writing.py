"""Texts about entities that a model writes: text dimensions with a prompt, and backstories.

They do not belong to a batch, so they are not stored in a ledger. Either all of them are written, or none is used.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tidepool.engine.call import Call, seed_of
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.entities import Entity
from tidepool.engine.config.entity_types import EntityType, with_texts, writing_tasks
from tidepool.engine.errors import RunError
from tidepool.engine.providers.protocol import Answer, ProviderError
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.recording import CallJournal, LiveCall
from tidepool.engine.runtime.unit import PendingCall
from tidepool.engine.single_call import provider_for
from tidepool.engine.studies.simulation.prompts import ScenePrompt, backstory, written_text

MOST_TOKENS = 400
BACKSTORY = "backstory"


@dataclass(frozen=True, slots=True)
class WrittenEntities:
    entities: list[Entity]
    calls: int
    cost_usd: float | None


async def write_texts(
    entity_type: EntityType,
    entities: Sequence[Entity],
    model: str,
    seed: int,
    *,
    with_backstory: bool = False,
    language: str = "English",
) -> WrittenEntities:
    """The entities with all texts that a model writes."""
    model = resolve_model(model)
    try:
        async with provider_for(model) as provider:
            # The user waits for these few texts, so an outage is reported at once.
            impatient = provider.settings.model_copy(update={"outage_patience": 0.0})
            scribe = _Scribe(Account(provider, impatient), model, seed)
            await provider.check([model.partition(":")[2]])
            finished = await asyncio.gather(
                *(_write_entity(scribe, entity_type, entity, with_backstory, language) for entity in entities)
            )
    except ProviderError as error:
        raise RunError(f"The texts could not be written: {error}") from error
    return WrittenEntities(list(finished), scribe.calls, scribe.cost_usd)


async def _write_entity(
    scribe: "_Scribe", entity_type: EntityType, entity: Entity, with_backstory: bool, language: str
) -> Entity:
    texts = {
        task.dimension: await scribe.write(entity.name, task.dimension, written_text(entity, task.prompt))
        for task in writing_tasks(entity_type, entity)
    }
    complete = with_texts(entity_type, entity, texts) if texts else entity
    if not with_backstory:
        return complete
    return complete.with_attribute(BACKSTORY, await scribe.write(entity.name, BACKSTORY, backstory(complete, language)))


class _Scribe(CallJournal):
    def __init__(self, account: Account, model: str, seed: int) -> None:
        self._account = account
        self._model = model
        self._seed = seed
        self.calls = 0
        self.cost_usd: float | None = 0.0

    async def write(self, name: str, dimension: str, prompt: ScenePrompt) -> str:
        step = f"{name}/{dimension}"
        call = Call(step, 1, self._model, prompt.messages, prompt.system, temperature=0.7, max_tokens=MOST_TOKENS)
        seed = seed_of(self._seed, "writing", name, dimension)
        answer = await LiveCall(self._account, PendingCall(0, call, b"", seed, 0.0), self).answer()
        self._count(answer)
        text = " ".join(answer.text.split())
        if not text:
            raise RunError(f"The model wrote nothing for {dimension} of {name}. Try again, or use another model.")
        return text

    def unusable(self, pending: PendingCall, account: Account, answer: Answer) -> None:
        self._count(answer)

    def possibly_paid(self, pending: PendingCall, account: Account, reason: str) -> None:
        self._count(account.booked(pending.call, Answer("", usage_missing=True)))

    def _count(self, answer: Answer) -> None:
        self.calls += 1
        known = self.cost_usd is not None and answer.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (answer.cost_usd or 0.0) if known else None
