"""Prices from genai-prices, whose table comes with the package: each model is looked up once, then multiplied."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tidepool.engine.call import PriceTag
from tidepool.engine.config.endpoints import OWN_ENDPOINTS
from tidepool.engine.providers.endpoint import Endpoint

_PROBE = 1_000
"""tokens of the question whose price gives the rates: below any long-context tier"""


def price_tag(endpoint: Endpoint, model_name: str) -> PriceTag | None:
    """As declared, else as the table has it; None where the price is not known."""
    if declared := endpoint.price(model_name):
        return declared
    where = next((where for where in _places(endpoint) if _find(model_name, where)), None)
    return None if where is None else _listed(model_name, where)


def _places(endpoint: Endpoint) -> Iterator[dict[str, str]]:
    """Where the table may have it: by the server's address, which is somebody else's perhaps, then under its house."""
    own = OWN_ENDPOINTS.get(endpoint.name)
    if own is None or endpoint.where()[0] != own.address:
        yield {"provider_api_url": endpoint.where()[0]}
    if own is not None:
        yield {"provider_id": endpoint.name}


def _listed(model_name: str, where: Mapping[str, Any]) -> PriceTag:
    from genai_prices import Usage

    def rate(context: Mapping[str, str] | None, **tokens: int) -> float:
        return _calculated(model_name, where, Usage(**tokens), context) / _PROBE

    def exactly(input_tokens: int, output_tokens: int, cache_read: int, cache_write: int, batch: bool) -> float:
        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
        )
        return _calculated(model_name, where, usage, {"processing": "batch"} if batch else None)

    def rates(context: Mapping[str, str] | None) -> PriceTag:
        return PriceTag(
            input=rate(context, input_tokens=_PROBE),
            output=rate(context, output_tokens=_PROBE),
            cache_read=rate(context, input_tokens=_PROBE, cache_read_tokens=_PROBE),
            cache_write=rate(context, input_tokens=_PROBE, cache_write_tokens=_PROBE),
        )

    return replace(rates(None), batch=rates({"processing": "batch"}), exactly=exactly)


def _find(model_name: str, where: Mapping[str, Any]) -> bool:
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1), model_name, **where)
    except LookupError:
        return False
    return True


def _calculated(model_name: str, where: Mapping[str, Any], usage: Any, context: Mapping[str, str] | None) -> float:
    from genai_prices import calc_price

    return float(calc_price(usage, model_name, **where, price_context=context).total_price)
