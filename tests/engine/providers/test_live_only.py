"""What a provider of another package gets by deriving from ours."""

import pytest

from tidepool.engine.call import Call
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.live_only import LiveProvider
from tidepool.engine.providers.protocol import Answer


class Silent(LiveProvider):
    name = "silent"


class Parrot(LiveProvider):
    name = "parrot"

    async def complete(self, call: Call, seed: int, attempt: int) -> Answer:
        return Answer(call.messages[-1].text)


def test_one_that_answers_nothing_cannot_be_opened() -> None:
    with pytest.raises(TypeError, match="complete"):
        Silent(ProviderSettings())  # type: ignore[abstract]


def test_a_price_that_nobody_told_is_unknown_not_nothing() -> None:
    assert Parrot(ProviderSettings()).price("any") is None
