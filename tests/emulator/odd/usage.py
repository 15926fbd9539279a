"""What an answer is said to have used: the token counts of every provider, made unbelievable."""

from collections.abc import Callable
from typing import Any

COUNTS = {
    "openai": ("prompt_tokens", "completion_tokens", "total_tokens"),
    "anthropic": ("input_tokens", "output_tokens"),
    "ollama": ("prompt_eval_count", "eval_count"),
}


def _place(family: str, body: dict[str, Any]) -> dict[str, Any]:
    """Where the counts stand: Ollama has them beside the message."""
    place: dict[str, Any] = body if family == "ollama" else body["usage"]
    return place


def _each(change: Callable[[int], Any]) -> Callable[[str, dict[str, Any]], None]:
    def spoil(family: str, body: dict[str, Any]) -> None:
        place = _place(family, body)
        for name in COUNTS[family]:
            if name in place:
                place[name] = change(place[name])

    return spoil


def _whole(value: Any) -> Callable[[str, dict[str, Any]], None]:
    """The table of counts itself is something else."""

    def spoil(family: str, body: dict[str, Any]) -> None:
        if family == "ollama":
            _each(lambda _: value)(family, body)
        else:
            body["usage"] = value

    return spoil


def _missing(family: str, body: dict[str, Any]) -> None:
    if family == "ollama":
        for name in COUNTS[family]:
            del body[name]
    else:
        del body["usage"]


def _input_alone(family: str, body: dict[str, Any]) -> None:
    place = _place(family, body)
    for name in COUNTS[family][1:]:
        place.pop(name, None)


def _odd_details(family: str, body: dict[str, Any]) -> None:
    place = _place(family, body)
    place["prompt_tokens_details"] = "none"
    place["completion_tokens_details"] = [7]
    place["cache_read_input_tokens"] = "many"


def _more_cached_than_asked(family: str, body: dict[str, Any]) -> None:
    place = _place(family, body)
    place["prompt_tokens_details"] = {"cached_tokens": 10**9}
    place["cache_read_input_tokens"] = -5


USAGE: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "missing": _missing,
    "null": _whole(None),
    "empty": _whole({}),
    "a-list": _whole([1, 2]),
    "a-word": _whole("free"),
    "counts-null": _each(lambda _: None),
    "zero": _each(lambda _: 0),
    "negative": _each(lambda count: -count - 1),
    "text": _each(lambda count: f"{count} tokens"),
    "digits": _each(str),
    "1e300": _each(lambda _: 1e300),
    "nan": _each(lambda _: float("nan")),
    "infinite": _each(lambda _: float("inf")),
    "trillions": _each(lambda _: 10**13),
    "long": _each(lambda _: 10**4000),
    "fraction": _each(lambda count: count + 0.7),
    "true": _each(lambda _: True),
    "nested": _each(lambda count: {"count": count}),
    "input-alone": _input_alone,
    "odd-details": _odd_details,
    "overcached": _more_cached_than_asked,
}
