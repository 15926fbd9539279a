"""One request outside every batch, to try a provider. It is not stored and not retried.

It uses the same provider as a batch would. The user is waiting for it, sees an error in the provider's words, and can ask
again. So there are no retries, and the timeout is short.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tidepool.engine.call import Call, Message, seed_of, worst_cost
from tidepool.engine.config.endpoints import refuse_retired, resolve_model
from tidepool.engine.config.loading import user_providers
from tidepool.engine.config.sections import Providers, Service
from tidepool.engine.errors import RunError
from tidepool.engine.providers.endpoint import open_provider, scrub_keys
from tidepool.engine.providers.protocol import Provider, ProviderError

PATIENCE = 60.0
"""default in seconds"""
PROBE_TOKENS = 16
NO_BATCH = "library"
"""the batch id of these calls"""


@dataclass(frozen=True, slots=True)
class SingleAnswer:
    """The result of a call outside every batch."""

    text: str
    simulated: bool
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None: the price is unknown"""
    notices: tuple[str, ...] = ()


@asynccontextmanager
async def provider_for(model: str, providers: Providers | None = None) -> AsyncIterator[Provider]:
    """The provider of PROVIDER:MODEL, for calls that belong to no batch."""
    name = resolve_model(model).partition(":")[0]
    provider = open_provider(name, (providers or user_providers()).limits_for(name, Service()))
    provider.serve(NO_BATCH)
    try:
        yield provider
    finally:
        await provider.close()


def probe_call(model: str) -> Call:
    """A minimal request that checks whether the model answers."""
    model = resolve_model(model)
    operation = "embed" if "embed" in model or model == "simulated:encoder" else "chat"
    messages = (Message("user", "Answer with the word: ready"),)
    return Call("test", 1, model, messages, max_tokens=PROBE_TOKENS, operation=operation)


async def most_cost_of(call: Call, providers: Providers | None = None) -> float | None:
    """The maximum cost of the call in dollars; None: unknown."""
    async with provider_for(call.model, providers) as provider:
        tag = provider.price(call.model_name)
        return None if tag is None else worst_cost(call, tag)


async def ask_once(call: Call, providers: Providers | None = None, *, patience: float = PATIENCE) -> SingleAnswer:
    """Sends the call once. Raises RunError with the provider's message if it fails."""
    refuse_retired(call.model)
    try:
        async with asyncio.timeout(patience), provider_for(call.model, providers) as provider:
            provider.backoff = min(provider.backoff, 0.1)
            await provider.check([call.model_name])
            started = time.monotonic()
            answer = await provider.complete(call, seed_of(0, "single call", call.model), 1)
            seconds = time.monotonic() - started
            notices: list[str] = []
            provider.notices.listen(notices.append)
    except ProviderError as error:
        raise RunError(scrub_keys(str(error))) from None
    except TimeoutError:
        raise RunError(
            f"{call.model} did not answer within {patience:g} s. Check the network and the address, or try again."
        ) from None
    return SingleAnswer(
        text="" if call.operation == "embed" else answer.text,
        simulated=provider.simulated,
        seconds=seconds if answer.seconds is None else answer.seconds,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost_usd=answer.cost_usd,
        notices=tuple(map(scrub_keys, notices)),
    )
