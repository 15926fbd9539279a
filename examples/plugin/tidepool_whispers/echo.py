"""A provider without a network: it says what it heard, and a forgetful one drops a word of it."""

from random import Random

from tidepool.engine.extending import (
    FREE,
    Answer,
    Call,
    ErrorClass,
    LiveProvider,
    PriceTag,
    ProviderError,
    ProviderSettings,
    ProviderSpec,
    expected_tokens,
)


class EchoSettings(ProviderSettings):
    forgetting: float = 0.5
    """chance that a forgetful model drops a word"""


class EchoProvider(LiveProvider[EchoSettings]):
    name = "echo"

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        words = call.messages[-1].text.split()
        if not words:
            raise ProviderError(ErrorClass.CLIENT, "there is nothing to say again")
        chance = Random(seed)
        if call.model_name == "forgetful" and len(words) > 1 and chance.random() < self.settings.forgetting:
            del words[chance.randrange(len(words))]
        text = " ".join(words)
        return Answer(text, expected_tokens(call.messages[-1].text), expected_tokens(text), cost_usd=0.0)

    def price(self, model_name: str) -> PriceTag:
        return FREE


PROVIDER = ProviderSpec(EchoSettings, EchoProvider, models=("faithful", "forgetful"))
