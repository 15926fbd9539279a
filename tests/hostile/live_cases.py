"""Live calls to a server whose replies, figures, bytes or refusals are odd: a third of its answers unless a case says more."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.hostile.case import Case, Check, Fate
from tests.hostile.seen import SECRETS, Seen

KEPT, MISSING, ONCE_MORE, HEALED, REFUSED, ANY = (
    Fate.KEPT,
    Fate.MISSING,
    Fate.ASKED_ONCE_MORE,
    Fate.HEALED,
    Fate.REFUSED,
    Fate.ANY,
)
THIRD = 0.33
PAID_AGAIN = 2.2
"""a third of the replies asked again, some of them more than once: bought ÷ needed of a small study, at most"""


def sometimes(word: str, rate: float = THIRD, **more: Any) -> dict[str, Any]:
    return {"seed": 3, "rates": {"live": {word: rate}}, **more}


# -- what messages must hold -----------------------------------------------------------------------------


def thoughts_are_kept(seen: Seen) -> str:
    kept = sum(any(secret in (message["thought"] or "") for secret in SECRETS) for message in seen.messages)
    return "" if kept >= seen.struck else f"{kept} thoughts kept, {seen.struck} thought"


def _all_end(reason: str) -> Check:
    def check(seen: Seen) -> str:
        ended = sum(message["finish_reason"] == reason for message in seen.messages)
        return "" if ended == seen.struck else f"{ended} messages ended {reason}, {seen.struck} replies did"

    return check


def _served_by(model: str) -> Check:
    def check(seen: Seen) -> str:
        served = sum(message["served_model"] == model for message in seen.messages)
        return "" if served == seen.struck else f"{served} messages name the model that served {seen.struck}"

    return check


def reasoning_is_priced(seen: Seen) -> str:
    """Each of those replies wrote twenty tokens more than it said."""
    said, written = sum(one.output_tokens for one in seen.purchases), (seen.summary or {})["tokens"]["output"]
    return "" if written == said + 20 * seen.struck else f"{written} tokens written, {said} said"


def worst_case_is_booked(seen: Seen) -> str:
    """300 tokens of reply were reserved for each call."""
    least = seen.struck * 300 * 0.6 / 1_000_000 if seen.provider == "openai" else 0.0
    return "" if (seen.cost or 0.0) >= least else f"${seen.cost} booked, ${least:.6f} reserved"


def no_stray(seen: Seen) -> str:
    return f"{len(seen.strayed)} requests went to another host" if seen.strayed else ""


# -- tables ----------------------------------------------------------------------------------------------

ENDINGS: dict[str, tuple[tuple[str, Fate, str], ...]] = {
    "openai": (
        ("filtered", MISSING, "filter|withheld"),
        ("filtered-empty", MISSING, "filter|withheld"),
        ("filtered-partly", MISSING, "filter|withheld"),
        ("tool", MISSING, "tool"),
        ("function", MISSING, "tool"),
        ("reasoning-only", MISSING, "reasoning|max_tokens"),
        ("empty", ONCE_MORE, "empty|nothing|no text"),
        ("blank", ONCE_MORE, "empty|nothing|no text"),
        ("null", ONCE_MORE, "empty|nothing|no text"),
        ("absent", ONCE_MORE, "empty|nothing|no text|not a reply"),
        ("error", HEALED, ""),
        ("broken-off", HEALED, ""),
        ("think-only", MISSING, "reasoning|thought|thinking"),
        ("think-unclosed", MISSING, "reasoning|thought|thinking"),
        ("think-empty", ONCE_MORE, "empty|nothing|no text|reasoning|thought"),
        ("cut", KEPT, r"cut.*max_tokens|max_tokens.*cut|length limit"),
        ("refusal", KEPT, ""),
        ("refusal-beside", KEPT, ""),
        ("finish-null", KEPT, ""),
        ("finish-missing", KEPT, ""),
        ("finish-unknown", KEPT, ""),
        ("finish-number", KEPT, ""),
        ("finish-object", KEPT, ""),
    ),
    "anthropic": (
        ("refusal-silent", MISSING, "refus|declin"),
        ("tool", MISSING, "tool"),
        ("pause", ANY, ""),
        ("reasoning-only", MISSING, "reasoning|max_tokens"),
        ("redacted-only", ONCE_MORE, "reasoning|thought|empty|nothing"),
        ("empty", ONCE_MORE, "empty|nothing|no text"),
        ("blank", ONCE_MORE, "empty|nothing|no text"),
        ("cut", KEPT, r"cut.*max_tokens|max_tokens.*cut|length limit"),
        ("refusal", KEPT, ""),
        ("finish-null", KEPT, ""),
        ("finish-unknown", KEPT, ""),
        ("finish-number", KEPT, ""),
    ),
    "ollama": (
        ("empty", ONCE_MORE, "empty|nothing|no text"),
        ("load", HEALED, ""),
        ("tool", MISSING, "tool"),
        ("reasoning-only", MISSING, "reasoning|max_tokens"),
        ("unfinished", ANY, ""),
        ("cut", KEPT, r"cut.*max_tokens|max_tokens.*cut|length limit"),
        ("finish-missing", KEPT, ""),
        ("finish-unknown", KEPT, ""),
    ),
}
ENDING_CHECKS: dict[str, Check] = {"cut": _all_end("cut"), "refusal": _all_end("refused")}

THOUGHTS: dict[str, tuple[str, ...]] = {
    "openai": (
        *("reasoned", "reasoning", "parts-thinking", "think", "think-twice", "think-nested"),
        *("think-unopened", "think-capitals", "think-long-tag", "think-with-space"),
    ),
    "anthropic": ("thinking", "think", "think-unopened"),
    "ollama": ("thinking", "think", "think-nested"),
}
UNKEPT_THOUGHTS = {"openai": ("reasoning-details", "reasoning-object"), "anthropic": ("redacted",)}
"""thoughts that need not be kept, and are never said"""

SHAPES: dict[str, tuple[tuple[str, Fate], ...]] = {
    "openai": (
        *(("parts", KEPT), ("two-choices", KEPT), ("model-other", KEPT), ("model-null", KEPT), ("model-number", KEPT)),
        *(("model-long", KEPT), ("beyond-unicode", KEPT), ("long", KEPT), ("terminal", KEPT)),
        *((word, HEALED) for word in ("no-choices", "choices-null", "choices-missing", "choice-null")),
        *((word, HEALED) for word in ("message-null", "message-missing", "message-text")),
        *((word, ANY) for word in ("content-number", "content-object", "content-true")),
        *((word, ONCE_MORE) for word in ("parts-empty", "parts-null", "parts-odd")),
    ),
    "anthropic": (
        *(("model-other", KEPT), ("model-null", KEPT), ("beyond-unicode", KEPT), ("content-text", ANY)),
        *(("null", ANY), ("absent", ANY), ("content-number", ANY), ("blocks-null", ANY), ("blocks-odd", ANY)),
    ),
    "ollama": (
        *(("model-other", KEPT), ("beyond-unicode", KEPT), ("null", ANY), ("message-null", ANY)),
        *(("message-missing", ANY), ("content-number", ANY)),
    ),
}
SERVED = {"openai": "gpt-4o-mini-2024-07-18", "anthropic": "claude-haiku-5-5-20260901", "ollama": "llama3.2:1b"}

BELIEVED = ("digits", "fraction", "odd-details", "overcached")
"""usage that may be read with good will; all other is booked at the worst case"""
USAGE: dict[str, tuple[str, ...]] = {
    "openai": (
        *(
            "missing",
            "null",
            "empty",
            "a-list",
            "a-word",
            "counts-null",
            "zero",
            "negative",
            "text",
            "1e300",
            "nan",
            "infinite",
        ),
        *("trillions", "long", "true", "nested", "input-alone", *BELIEVED),
    ),
    "anthropic": ("missing", "null", "zero", "negative", "text", "1e300", "nan", "odd-details"),
    "ollama": ("missing", "negative", "text", "1e300", "nan", "true"),
}

ON_THE_WAY: Mapping[str, tuple[Fate, dict[str, Any]]] = {
    **{word: (HEALED, {}) for word in ("brackets", "half", "nothing", "json-null", "json-list")},
    **{word: (HEALED, {}) for word in ("json-number", "twice", "events", "no-content", "gzip-broken")},
    **{word: (ANY, {}) for word in ("brackets-inside", "bom", "utf-16", "not-utf-8", "long-number")},
    "json-text": (HEALED, {"disowned": True}),
    "gzip": (KEPT, {}),
    "bomb": (ANY, {"told": "64 MB|too large|larger"}),
    "huge": (ANY, {"told": "64 MB|too large|larger"}),
    "drip": (HEALED, {"service": {"timeout": 1.0}}),
    "key": (KEPT, {}),
}

HEADS = ("none-left-now", "negative", "garbage", "nan", "infinite", "zero", "long", "a-page")
WAITS = ("date", "past", "garbage", "negative", "nan", "empty", "none")
ENDLESS_WAITS = ("9999", "infinite", "1e300")

OF_ONE_REQUEST = ("detail", "detail-list", "detail-object", "text", "list", "context", "null", "number")
HEALING = (
    *("detail-500", "text-500", "empty-500", "page-502", "not-utf-8-500", "brackets-500", "520", "408", "409"),
    *("429-text", "429-detail", "in-200", "in-200-text", "in-200-detail", "in-200-beside", "in-200-429"),
)
WORDS_OF = {
    "detail": "too long for the engine",
    "detail-list": "at most 4 items",
    "detail-object": "blocked by the gateway",
    "text": "prompt is too long",
    "list": "prompt is too long",
    "context": "maximum context length",
}


def cases() -> Iterator[Case]:
    yield from _endings()
    yield from _thoughts()
    yield from _shapes()
    yield from _usage()
    yield from _on_the_way()
    yield from _limits_told()
    yield from _refusals()


def _bound(fate: Fate) -> float:
    return {HEALED: PAID_AGAIN, ONCE_MORE: 1.6, ANY: PAID_AGAIN}.get(fate, 1.0)


def _endings() -> Iterator[Case]:
    for provider, rows in ENDINGS.items():
        for word, fate, told in rows:
            checks = (ENDING_CHECKS[word],) if word in ENDING_CHECKS else ()
            yield Case(
                "why it ended",
                f"{provider}, {word}",
                sometimes(f"reply:{word}"),
                fate,
                told,
                provider,
                most_bought=_bound(fate),
                checks=checks,
            )
    stubborn = sometimes("reply:empty", stubborn=True)
    yield Case("why it ended", "openai, empty however often", stubborn, ANY, "empty|nothing|no text", most_bought=1.5)
    all_cut = sometimes("reply:cut", 1.0)
    yield Case("why it ended", "openai, every reply cut", all_cut, KEPT, "max_tokens", checks=(_all_end("cut"),))


def _thoughts() -> Iterator[Case]:
    for provider, words in THOUGHTS.items():
        for word in words:
            checks = (thoughts_are_kept, reasoning_is_priced) if word == "reasoned" else (thoughts_are_kept,)
            conduct = sometimes(f"reply:{word}")
            yield Case("reasoning", f"{provider}, {word}", conduct, KEPT, provider=provider, checks=checks)
    for provider, words in UNKEPT_THOUGHTS.items():
        for word in words:
            yield Case("reasoning", f"{provider}, {word}", sometimes(f"reply:{word}"), KEPT, provider=provider)


def _shapes() -> Iterator[Case]:
    for provider, rows in SHAPES.items():
        for word, fate in rows:
            checks = (_served_by(SERVED[provider]),) if word == "model-other" else ()
            conduct = sometimes(f"reply:{word}")
            bound = _bound(fate)
            yield Case(
                "shape", f"{provider}, {word}", conduct, fate, provider=provider, most_bought=bound, checks=checks
            )


def _usage() -> Iterator[Case]:
    for provider, words in USAGE.items():
        for word in words:
            believed = word in BELIEVED
            checks = () if believed else (worst_case_is_booked,)
            told = "" if believed or provider == "ollama" else "usage"
            conduct = sometimes(f"usage:{word}", 1.0)
            yield Case("usage", f"{provider}, {word}", conduct, KEPT, told, provider, checks=checks)
    capped = {"budget_usd": 0.001}
    conduct = sometimes("usage:missing", 1.0)
    stops = ("interrupted",)
    yield Case(
        "usage", "openai, missing under a budget", conduct, ANY, "budget", service=capped, statuses=stops,
        checks=(_within_a_tenth_of_a_cent,), conversations=60,
    )  # fmt: skip


def _within_a_tenth_of_a_cent(seen: Seen) -> str:
    return "" if seen.cost is not None and seen.cost <= 0.001 else f"${seen.cost} spent of $0.001"


def _on_the_way() -> Iterator[Case]:
    for word, (fate, more) in ON_THE_WAY.items():
        conduct = sometimes(f"body:{word}")
        yield Case("on the way", word, conduct, fate, most_bought=_bound(fate), unclear=fate is not KEPT, **more)
    for provider in ("anthropic", "ollama"):
        for word in ("half", "brackets", "bomb"):
            conduct = sometimes(f"body:{word}")
            name, fate = f"{provider}, {word}", ANY if word == "bomb" else HEALED
            yield Case("on the way", name, conduct, fate, provider=provider, most_bought=PAID_AGAIN, unclear=True)
    for provider in ("openai", "anthropic", "ollama"):
        for word in ("elsewhere", "moved"):
            conduct, name = sometimes(f"move:{word}"), f"{provider}, {word}"
            told = "redirect|another (host|server)"
            yield Case("on the way", name, conduct, ANY, told, provider, unclear=True, checks=(no_stray,))
    yield Case("on the way", "in circles", sometimes("move:in-circles"), HEALED, unclear=True)


def _limits_told() -> Iterator[Case]:
    for word in HEADS:
        yield Case("limits told", f"headers, {word}", sometimes(f"head:{word}"), KEPT)
    yield Case(
        "limits told", "headers, none left for 99999 days", {"script": {"live": ["head:none-left"]}}, ANY,
        "d\\b|day|rest|wait", service={"outage_patience": 3.0}, statuses=("completed", "partial", "failed"),
    )  # fmt: skip
    for word in WAITS:
        yield Case("limits told", f"Retry-After, {word}", sometimes(f"wait:{word}"), HEALED)
    for word in ENDLESS_WAITS:
        yield Case(
            "limits told", f"Retry-After, {word}", {"script": {"live": ["", f"wait:{word}"]}}, ANY,
            r"wait|rest|h\b|min", service={"outage_patience": 3.0}, statuses=("completed", "partial", "failed"),
        )  # fmt: skip


def _refusals() -> Iterator[Case]:
    for word in OF_ONE_REQUEST:
        yield Case("refusals", word, sometimes(f"error:{word}"), REFUSED, WORDS_OF.get(word, ""), unclear=True)
    for word in HEALING:
        yield Case("refusals", word, sometimes(f"error:{word}"), HEALED, unclear=True)
    overloaded = sometimes("error:in-200-anthropic")
    yield Case("refusals", "anthropic, in-200", overloaded, HEALED, provider="anthropic", unclear=True)
    for form in ("", "detail", "detail-list", "text"):
        conduct = {"refused_settings": ["seed"], "error_form": form}
        name = f"a setting is refused{f', as {form}' if form else ''}"
        yield Case("refusals", name, conduct, ANY, "seed", statuses=("completed",))
