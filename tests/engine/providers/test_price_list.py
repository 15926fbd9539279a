"""Prices are looked up once for each model and equal what genai-prices works out for every use."""

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.call import Call, Message, PriceTag, worst_cost
from tidepool.engine.config.endpoints import KNOWN_MODELS
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.provider import price_tag


def tag_of(provider: str, model_name: str, base_url: str | None = None) -> PriceTag | None:
    return price_tag(endpoint_of(provider, ProviderSettings(base_url=base_url)), model_name)


MODELS = [(provider, name) for provider, names in KNOWN_MODELS.items() for name in names]


@pytest.mark.parametrize(("provider", "name"), MODELS)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 400_000), st.integers(0, 5_000), st.floats(0, 1), st.floats(0, 1), st.sampled_from([False, True]))
def test_the_tag_of_every_known_model_prices_as_the_table_does(
    provider: str, name: str, asked: int, said: int, read_share: float, written_share: float, batch: bool
) -> None:
    tag = tag_of(provider, name)
    assert tag is not None
    read = int(asked * read_share)
    written = int((asked - read) * written_share)
    usage = Usage(input_tokens=asked, output_tokens=said, cache_read_tokens=read, cache_write_tokens=written)
    context = {"processing": "batch"} if batch else None
    expected = float(calc_price(usage, name, provider_id=provider, price_context=context).total_price)
    assert tag.cost(asked, said, batch=batch, cache_read=read, cache_write=written) == pytest.approx(
        expected, abs=1e-12
    )


def test_an_unknown_model_has_no_price_rather_than_none_to_pay() -> None:
    assert tag_of("openai", "no-such-model") is None
    assert tag_of("openai", "no-such-model", "http://127.0.0.1:8000/v1") is None


def test_a_reservation_covers_a_prompt_that_is_written_to_the_cache() -> None:
    tag = tag_of("anthropic", "claude-haiku-5-5")
    assert tag is not None
    call = Call("t1", 1, "anthropic:claude-haiku-5-5", (Message("user", "hello"),), system="x" * 8_000)
    tokens = 2_000
    assert worst_cost(call, tag) >= tag.cost(tokens, call.max_tokens, cache_write=tokens)
