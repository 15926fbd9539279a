"""Provider batches whose requests, files, states or whole API are odd. Each wave is a provider batch of twelve calls."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.hostile.case import Case, Fate
from tests.hostile.live_cases import (
    PAID_AGAIN,
    SERVED,
    _served_by,
    no_stray,
    sometimes,
    thoughts_are_kept,
    worst_case_is_booked,
)
from tests.hostile.seen import Seen

ANY, HEALED, KEPT, MISSING, ONCE_MORE = Fate.ANY, Fate.HEALED, Fate.KEPT, Fate.MISSING, Fate.ASKED_ONCE_MORE
WHOLE = ("completed",)
ONE_ROW = 1 + 1.5 / 12
"""bought ÷ needed where one row of each file is lost and asked again"""
TWO_ROWS = 1 + 2.5 / 12
ALL_AGAIN = 3.0


def ordered(provider: str, **more: Any) -> dict[str, Any]:
    return {"name": f"{provider}-conversation", **more}


def in_batches(word: str, rate: float = 0.33) -> dict[str, Any]:
    return {"seed": 3, "rates": {"item": {word: rate}}}


def at(step: str, *words: str) -> dict[str, Any]:
    """These, in order, and then all is well."""
    return {"script": {step: list(words)}}


def always(step: str, word: str) -> dict[str, Any]:
    return {"rates": {step: {word: 1.0}}}


def none_live(seen: Seen) -> str:
    live = seen.traffic["live"]
    return f"{live} calls went live" if live else ""


REPLIES: Mapping[str, tuple[tuple[str, Fate, str], ...]] = {
    "openai": (
        *(("reply:filtered", MISSING, "filter|withheld"), ("reply:tool", MISSING, "tool")),
        *(
            ("reply:reasoning-only", MISSING, "reasoning|max_tokens"),
            ("reply:empty", ONCE_MORE, "empty|nothing|no text"),
        ),
        *(("reply:error", HEALED, ""), ("reply:cut", KEPT, "max_tokens"), ("reply:think", KEPT, "")),
        *(("reply:refusal", KEPT, ""), ("reply:model-other", KEPT, ""), ("reply:no-choices", HEALED, "")),
        *(("reply:beyond-unicode", KEPT, ""), ("usage:missing", KEPT, "usage"), ("usage:1e300", KEPT, "usage")),
        *(("usage:nan", KEPT, "usage"), ("usage:negative", KEPT, "usage")),
    ),
    "anthropic": (
        *(("reply:refusal-silent", MISSING, "refus|declin"), ("reply:tool", MISSING, "tool")),
        *(
            ("reply:reasoning-only", MISSING, "reasoning|max_tokens"),
            ("reply:empty", ONCE_MORE, "empty|nothing|no text"),
        ),
        *(("reply:cut", KEPT, "max_tokens"), ("reply:thinking", KEPT, ""), ("reply:model-other", KEPT, "")),
        *(("usage:missing", KEPT, "usage"), ("usage:1e300", KEPT, "usage")),
    ),
}
CHECKS = {"reply:think": (thoughts_are_kept,), "reply:thinking": (thoughts_are_kept,)}

LOSES_A_ROW = (
    *("corrupt", "not-utf-8", "brackets", "id-missing", "id-number", "id-object", "neither", "a-number", "body-null"),
    *("status-odd", "error-text"),
)
LOSES_NOTHING = (
    *("blank-lines", "odd-lines", "bom", "crlf", "body-text", "status-text", "twice", "and-errors", "strangers"),
    *("no-last-newline", "backwards", "not-utf-8-reply"),
)
ANTHROPIC_FILES = ("corrupt", "truncated", "empty", "strangers", "twice", "and-errors", "neither", "crlf")

CARDS = {
    "openai": (
        *("counts-text", "counts-negative", "counts-null", "counts-list", "counts-missing", "times-odd", "errors-odd"),
        *("status-missing", "status-unknown", "status-null", "status-number", "a-list", "null"),
    ),
    "anthropic": ("counts-text", "counts-null", "times-odd", "status-missing", "status-unknown", "null"),
}
LASTING = ("counts-text", "counts-negative", "counts-null", "counts-list", "counts-missing", "times-odd", "errors-odd")
"""oddities that a batch may have at every look and end all the same"""

GONE = {
    "expired-empty": "expired|cannot be read",
    "completed-empty": "cannot be read",
    "file-gone": "file",
    "file-empty": "cannot be read",
    "failed-silent": "refused a provider batch",
    "failed-text": "refused a provider batch",
}
"""a batch that ends without the file that it should have"""


def cases() -> Iterator[Case]:
    yield from _replies()
    yield from _files()
    yield from _states()
    yield from _creating()
    yield from _collecting()


def _replies() -> Iterator[Case]:
    bounds = {HEALED: PAID_AGAIN, ONCE_MORE: 1.6}
    for provider, rows in REPLIES.items():
        for word, fate, told in rows:
            checks = CHECKS.get(word, ())
            if word == "reply:model-other":
                checks = (_served_by(SERVED[provider]),)
            conduct = in_batches(word, 1.0 if word.startswith("usage") else 0.33)
            bound = bounds.get(fate, 1.0)
            yield Case(
                "batch, replies", f"{provider}, {word.partition(':')[2]}", conduct, fate, told, provider,
                ordered(provider), most_bought=bound, checks=checks,
            )  # fmt: skip


def _files() -> Iterator[Case]:
    def case(word: str, fate: Fate, bound: float, provider: str = "openai", told: str = "", **more: Any) -> Case:
        name = word if provider == "openai" else f"{provider}, {word}"
        conduct = {**always("results", f"rows:{word}"), "shuffle": True}
        return Case(
            "batch, files",
            name,
            conduct,
            fate,
            told,
            provider,
            ordered(provider),
            most_bought=bound,
            unclear=True,
            **more,
        )

    for word in LOSES_A_ROW:
        yield case(word, HEALED, ONE_ROW, disowned=word == "error-text")
    yield case("truncated", HEALED, TWO_ROWS)
    for word in LOSES_NOTHING:
        yield case(word, KEPT, 1.0, checks=(none_live,))
    for word in ("empty", "page"):
        yield case(word, ANY, ALL_AGAIN, told="cannot be read")
    for word in ANTHROPIC_FILES:
        lost = {"corrupt": ONE_ROW, "neither": ONE_ROW, "truncated": TWO_ROWS, "empty": ALL_AGAIN}
        fate = ANY if word == "empty" else HEALED if word in lost else KEPT
        yield case(word, fate, lost.get(word, 1.0), "anthropic")
    late = at("results", "rows:empty", "rows:truncated", "404", "cut")
    yield Case("batch, files", "broken twice, then whole", late, ANY, "", service=ordered("openai"), statuses=WHOLE)
    errors = {"rates": {"item": {"500": 0.3}, "results": {"rows:corrupt": 1.0}}, "seed": 3}
    yield Case(
        "batch, files", "errors in one file, both corrupt", errors, HEALED, service=ordered("openai"), unclear=True,
        most_bought=PAID_AGAIN,
    )  # fmt: skip


def _states() -> Iterator[Case]:
    for provider, words in CARDS.items():
        for word in words:
            conduct = always("poll", f"card:{word}") if word in LASTING else at("poll", *[f"card:{word}"] * 2)
            name = f"{provider}, {word}"
            yield Case("batch, states", name, conduct, KEPT, "", provider, ordered(provider), checks=(none_live,))
    yield Case(
        "batch, states", "openai, status-stuck for good", always("poll", "card:status-stuck"), ANY,
        "paused_for_review", service=ordered("openai", rescue_after=2.0), statuses=WHOLE, most_bought=2.0, unclear=True,
    )  # fmt: skip
    for word, told in GONE.items():
        yield Case(
            "batch, states", f"openai, {word}", always("poll", f"card:{word}"), ANY, told, service=ordered("openai"),
            statuses=WHOLE, most_bought=ALL_AGAIN, unclear=True, disowned=word.startswith("failed"),
        )  # fmt: skip
    elsewhere = always("poll", "card:results-elsewhere")
    yield Case(
        "batch, states", "anthropic, results elsewhere", elsewhere, ANY, provider="anthropic",
        service=ordered("anthropic"), statuses=WHOLE, most_bought=2.0, unclear=True, checks=(no_stray,),
    )  # fmt: skip


def _creating() -> Iterator[Case]:
    def case(name: str, conduct: dict[str, Any], told: str = "", provider: str = "openai", **more: Any) -> Case:
        return Case(
            "batch, creation", name, conduct, ANY, told, provider, ordered(provider), **{"statuses": WHOLE, **more}
        )

    for provider in ("openai", "anthropic"):
        yield case(f"{provider}, 500 for ever", always("create", "500"), "live", provider)
        yield case(f"{provider}, 404", always("create", "404"), "live", provider)
        yield case(f"{provider}, made, and the answer lost", at("create", "lost"), "", provider)
        yield case(f"{provider}, made, and a 500", at("create", "lost-500"), "", provider)
        yield case(f"{provider}, a page of a proxy", at("create", "garbage"), "", provider)
        for word in ("id-missing", "id-null", "null"):
            yield case(f"{provider}, made, {word}", at("create", f"card:{word}"), "", provider)
    yield case("openai, no files (404)", always("upload", "404"), "live")
    yield case("openai, no files (501)", always("upload", "501"), "live")
    yield case("openai, upload too large (413)", always("upload", "413"), "live")
    for word in ("nothing", "no-content", "half", "json-text"):
        fenced = {"rates": {"create": {"500": 1.0}, "cancel": {f"body:{word}": 1.0}}}
        yield case(f"openai, 500, and its file is gone, told as {word}", fenced, "live")
    yield case(
        "openai, the list fails too", {"rates": {"create": {"500": 1.0}, "list": {"500": 1.0}}}, "live", unclear=True
    )
    yield case("openai, the list is a page", {"script": {"create": ["lost-500"]}, "rates": {"list": {"garbage": 1.0}}},
               "", most_bought=2.0, unclear=True)  # fmt: skip


def _collecting() -> Iterator[Case]:
    def case(name: str, conduct: dict[str, Any], told: str = "", **more: Any) -> Case:
        return Case("batch, collecting", name, conduct, ANY, told, service=ordered("openai", timeout=2.0), **more)

    yield case("polls fail thrice", at("poll", "500", "garbage", "drop"), statuses=WHOLE)
    yield case("the batch is unknown for a moment", at("poll", "404"), statuses=WHOLE)
    yield case(
        "the batch is unknown for good", always("poll", "404"), "is lost", statuses=WHOLE, most_bought=2.0, unclear=True
    )
    yield case("the file is not there for a moment", at("results", "404"), statuses=WHOLE)
    yield case(
        "the file is never there", always("results", "404"), "file|results|gone", most_bought=ALL_AGAIN, unclear=True
    )
    yield case(
        "the file cannot be read (500)",
        always("results", "500"),
        "500|file|results",
        most_bought=ALL_AGAIN,
        unclear=True,
    )
    yield case("a bomb for a file", always("results", "body:bomb"), most_bought=ALL_AGAIN, unclear=True)
    yield case(
        "a file at one byte a second",
        always("results", "body:drip"),
        "slowly",
        most_bought=ALL_AGAIN,
        unclear=True,
        seconds=240.0,
    )
    yield case(
        "a redirect to another host",
        always("results", "move:elsewhere"),
        checks=(no_stray,),
        most_bought=ALL_AGAIN,
        unclear=True,
    )
    expired = {"rates": {"item": {"expire": 0.5}}, "seed": 3}
    yield case("half of it expired", expired, statuses=WHOLE)


__all__ = ["cases", "sometimes", "worst_case_is_booked"]
