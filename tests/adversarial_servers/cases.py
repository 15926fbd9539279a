"""One table of adversarial behaviours. A row says what the server does and what becomes of the calls that meet it.

One rule decides: a reply that is not an answer is missing, money is counted at what may have been charged, and no single odd
value ends a run. `make prove ONLY=adversarial_servers` runs all rows; the suite runs the most telling ones.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tests.adversarial_servers.case import SECRETS, Case, Check, Fate, Seen

ANY, HEALED, KEPT, MISSING = Fate.ANY, Fate.HEALED, Fate.KEPT, Fate.MISSING
ONCE_MORE, REFUSED = Fate.ASKED_ONCE_MORE, Fate.REFUSED
THIRD = 0.33
PAID_AGAIN = 2.2
"""bought ÷ needed, at most, where a third of the replies is asked again, some of them more than once"""
MOST_BOUGHT = {HEALED: PAID_AGAIN, ONCE_MORE: 1.6, ANY: PAID_AGAIN}
WHOLE = ("completed",)
ANY_END = ("completed", "partial", "failed")
ONE_ROW, TWO_ROWS, ALL_AGAIN = 1 + 1.5 / 12, 1 + 2.5 / 12, 3.0
"""bought ÷ needed where so many of a file's twelve rows are lost and asked again"""
SERVED = {"openai": "gpt-4o-mini-2024-07-18", "anthropic": "claude-haiku-5-5-20260901", "ollama": "llama3.2:1b"}
SILENT, THOUGHT, CUT = "empty|nothing|no text", "reasoning|thought|max_tokens", "max_tokens|length limit"


def sometimes(word: str, rate: float = THIRD, step: str = "live", **more: Any) -> dict[str, Any]:
    return {"seed": 3, "rates": {step: {word: rate}}, **more}


def at(step: str, *words: str) -> dict[str, Any]:
    """These, in order, and then all is well."""
    return {"script": {step: list(words)}}


def live(group: str, word: str, fate: Fate = KEPT, told: str = "", provider: str = "openai", **more: Any) -> Case:
    """A third of the live calls meets the word."""
    conduct = more.pop("conduct", None) or sometimes(word, more.pop("rate", THIRD))
    name = more.pop("name", f"{provider}, {word.partition(':')[2] or word}")
    more.setdefault("most_bought", MOST_BOUGHT.get(fate, 1.0))
    return Case(group, name, conduct, fate, told, provider, **more)


def batch(
    group: str, name: str, conduct: dict[str, Any], fate: Fate = ANY, provider: str = "openai", **more: Any
) -> Case:
    """Each wave is a provider batch of twelve calls."""
    service = {"name": f"{provider}-conversation", **more.pop("service", {})}
    return Case(group, f"{provider}, {name}", conduct, fate, provider=provider, service=service, **more)


# -- what else must hold -----------------------------------------------------------------------------------------


def thoughts_are_stored(seen: Seen) -> str:
    stored = sum(any(secret in (message["thought"] or "") for secret in SECRETS) for message in seen.messages)
    return "" if stored >= seen.struck else f"{stored} thoughts stored, {seen.struck} thought"


def _column_is(column: str, value: str) -> Check:
    def check(seen: Seen) -> str:
        found = sum(message[column] == value for message in seen.messages)
        return "" if found == seen.struck else f"{found} messages have {column} {value}, {seen.struck} replies did"

    return check


def reasoning_is_priced(seen: Seen) -> str:
    """Each of those replies wrote twenty tokens more than it said."""
    said, written = sum(one.output_tokens for one in seen.purchases), (seen.summary or {})["tokens"]["output"]
    return "" if written == said + 20 * seen.struck else f"{written} tokens written, {said} said"


def worst_case_is_booked(seen: Seen) -> str:
    """300 tokens of reply were reserved for each call."""
    least = seen.struck * 300 * 0.6 / 1_000_000 if seen.provider == "openai" else 0.0
    return "" if (seen.cost or 0.0) >= least else f"${seen.cost} booked, ${least:.6f} reserved"


def within_budget(seen: Seen) -> str:
    return "" if seen.cost is not None and seen.cost <= 0.001 else f"${seen.cost} spent of $0.001"


def no_stray(seen: Seen) -> str:
    return f"{len(seen.strayed)} requests went to another host" if seen.strayed else ""


def none_live(seen: Seen) -> str:
    return f"{seen.traffic['live']} calls went live" if seen.traffic["live"] else ""


# -- live calls --------------------------------------------------------------------------------------------------

Row = tuple[str, Fate, str]
REPLIES: dict[str, tuple[Row, ...]] = {
    "openai": (
        ("filtered", MISSING, "filter|withheld"),
        ("tool", MISSING, "tool"),
        ("reasoning-only", MISSING, THOUGHT),
        ("think-unclosed", MISSING, THOUGHT),
        ("empty", ONCE_MORE, SILENT),
        ("broken-off", HEALED, ""),
        ("no-choices", HEALED, ""),
        ("cut", KEPT, CUT),
        ("refusal", KEPT, ""),
        ("model-other", KEPT, ""),
        ("terminal", KEPT, ""),
    ),
    "anthropic": (
        ("refusal-silent", MISSING, "refus|declin"),
        ("reasoning-only", MISSING, THOUGHT),
        ("empty", ONCE_MORE, SILENT),
        ("blocks-odd", ANY, ""),
        ("cut", KEPT, CUT),
    ),
    "ollama": (
        ("load", HEALED, ""),
        ("reasoning-only", MISSING, THOUGHT),
        ("empty", ONCE_MORE, SILENT),
        ("unfinished", ANY, ""),
    ),
}
THOUGHTS = {
    "openai": ("reasoned", "parts-thinking", "think", "think-unopened"),
    "anthropic": ("thinking",),
    "ollama": ("thinking", "think"),
}
USAGE = {"openai": ("missing", "negative", "1e300", "nan"), "anthropic": ("missing",), "ollama": ("missing",)}
"""all of it is booked at the worst case"""
BODIES: dict[str, tuple[Fate, dict[str, Any]]] = {
    **dict.fromkeys(("brackets", "half", "nothing", "no-content", "gzip-broken"), (HEALED, {})),
    "bomb": (ANY, {"told": "64 MB|too large|larger"}),
    "key": (KEPT, {}),
    "drip": (HEALED, {"service": {"timeout": 1.0}}),
}
REFUSALS = {"detail": "too long for the engine", "detail-list": "at most 4 items", "text": "prompt is too long"}
HEALING = ("page-502", "brackets-500", "in-200-text", "in-200-429")


def _checks(word: str, provider: str) -> tuple[Check, ...]:
    known = {"cut": _column_is("finish_reason", "cut"), "refusal": _column_is("finish_reason", "refused")}
    known["model-other"] = _column_is("served_model", SERVED[provider])
    return (known[word],) if word in known else ()


def _replies() -> Iterable[Case]:
    for provider, rows in REPLIES.items():
        for word, fate, told in rows:
            yield live("replies", f"reply:{word}", fate, told, provider, checks=_checks(word, provider))
    stubborn = sometimes("reply:empty", stubborn=True)
    yield live("replies", "empty however often", ANY, SILENT, conduct=stubborn, most_bought=1.5)
    for provider, words in THOUGHTS.items():
        for word in words:
            checks = (thoughts_are_stored, reasoning_is_priced) if word == "reasoned" else (thoughts_are_stored,)
            yield live("reasoning", f"reply:{word}", provider=provider, checks=checks)


def _usage() -> Iterable[Case]:
    for provider, words in USAGE.items():
        for word in words:
            told = "" if provider == "ollama" else "token counts"
            yield live("usage", f"usage:{word}", KEPT, told, provider, rate=1.0, checks=(worst_case_is_booked,))
    yield live(
        "usage", "missing under a budget", ANY, "budget", conduct=sometimes("usage:missing", 1.0),
        service={"budget_usd": 0.001}, statuses=("interrupted",), checks=(within_budget,), conversations=60,
    )  # fmt: skip


def _transport() -> Iterable[Case]:
    for word, (fate, more) in BODIES.items():
        yield live("on the way", f"body:{word}", fate, unclear=fate is not KEPT, **more)
    for provider in ("anthropic", "ollama"):
        yield live("on the way", "body:half", HEALED, provider=provider, unclear=True)
        yield live("on the way", "body:bomb", ANY, provider=provider, unclear=True)
    for provider in SERVED:
        told = "redirect|another (host|server)"
        yield live("on the way", "move:elsewhere", ANY, told, provider, unclear=True, checks=(no_stray,))
    yield live("on the way", "move:in-circles", ANY, "redirect", unclear=True)
    for word in ("negative", "garbage"):
        yield live("limits", f"head:{word}")
    patience = {"outage_patience": 3.0}
    yield live(
        "limits", "none left for 99999 days", ANY, "d\\b|day|rest|wait", conduct=at("live", "head:none-left"),
        service=patience, statuses=ANY_END,
    )  # fmt: skip
    for word in ("date", "garbage"):
        yield live("limits", f"wait:{word}", HEALED, name=f"Retry-After {word}")
    for word in ("9999",):
        yield live(
            "limits", f"Retry-After {word}", ANY, r"wait|rest|h\b|min", conduct=at("live", "", f"wait:{word}"),
            service=patience, statuses=ANY_END,
        )  # fmt: skip


def _refusals() -> Iterable[Case]:
    for word, told in REFUSALS.items():
        yield live("refusals", f"error:{word}", REFUSED, told, unclear=True)
    for word in HEALING:
        yield live("refusals", f"error:{word}", HEALED, unclear=True)
    yield live("refusals", "error:in-200-anthropic", HEALED, provider="anthropic", unclear=True)
    for form in ("", "detail-list"):
        conduct = {"refused_settings": ["seed"], "error_form": form}
        yield live("refusals", f"a setting, as {form or 'usual'}", ANY, "seed", conduct=conduct, statuses=WHOLE)


def _servers() -> Iterable[Case]:
    """Slow, small, strict or away: nothing about a reply is odd, and yet calls fail."""
    away = "rest|down|away|unreachable|cannot be reached"
    brief = {"timeout": 1.0}
    for provider in SERVED:
        yield live(
            "server", "two slots and six calls", ANY, provider=provider, conduct={"parallel": 2, "latency": 0.3},
            service={"max_concurrent": 6, "timeout": 0.9, "retries": 5}, statuses=WHOLE, most_bought=1.4, unclear=True,
        )  # fmt: skip
        yield live(
            "server", "away for 6 s", ANY, away, provider, statuses=WHOLE, unclear=True, conversations=20,
            conduct={"outage_after": 15, "outage_seconds": 6.0, "latency": 0.05, "parallel": 4},
            service={"outage_patience": 30.0, "retries": 1, "max_concurrent": 4},
        )  # fmt: skip
    yield live(
        "server", "away for good", ANY, away, conduct={"outage_after": 15, "outage_seconds": 1e6}, conversations=20,
        statuses=("partial", "failed"), unclear=True, service={"outage_patience": 3.0, "retries": 1, "max_concurrent": 4},
    )  # fmt: skip
    yield live(
        "server", "500 to everything", ANY, "500", conduct=sometimes("500", 1.0), statuses=("failed",),
        service={"outage_patience": 3.0, "retries": 1},
    )  # fmt: skip
    yield live("server", "hang", HEALED, rate=0.1, service=brief, unclear=True)
    yield live("server", "lost-hang", HEALED, rate=0.1, service=brief, unclear=True, most_bought=1.5)
    yield live("server", "cut", HEALED, rate=0.1, unclear=True, most_bought=1.5)
    yield live("server", "drop", HEALED, unclear=True)
    yield live("server", "garbage", HEALED, unclear=True)
    yield live(
        "server", "all hang", ANY, "within|timeout|timed out|rest", conduct=sometimes("hang", 1.0), statuses=("failed",),
        service={"timeout": 0.5, "retries": 1, "outage_patience": 3.0}, unclear=True,
    )  # fmt: skip
    yield live(
        "server", "an enforced limit", ANY, conduct={"requests_per_minute": 1200, "window": 1.0}, statuses=WHOLE,
        service={"requests_per_minute": 1200, "max_concurrent": 40}, conversations=60,
    )  # fmt: skip
    yield live(
        "server", "an unknown limit", ANY, conduct={"requests_per_minute": 300, "minute": 10.0, "window": 1.0},
        statuses=WHOLE, conversations=30,
    )  # fmt: skip


# -- provider batches --------------------------------------------------------------------------------------------

BATCHED_REPLIES = {"openai": ("filtered", "empty", "cut", "no-choices"), "anthropic": ("refusal-silent", "empty")}
LOSES_A_ROW = ("corrupt", "brackets", "id-missing", "body-null", "error-text")
LOSES_NOTHING = ("odd-lines", "body-text", "and-errors", "unknown-ids")
LASTING = ("counts-text", "times-odd")
"""oddities that a batch may show at every poll and end all the same"""
PASSING = ("status-missing", "null")
NO_FILE = {"expired-empty": "expired|cannot be read", "file-gone": "file", "failed-silent": "rejected a provider batch"}
"""a batch that ends without the file that it should have"""


def _batched_replies() -> Iterable[Case]:
    for provider, words in BATCHED_REPLIES.items():
        fates = {word: (fate, told) for word, fate, told in REPLIES[provider]}
        for word in words:
            fate, told = fates[word]
            yield batch(
                "batch, replies", word, sometimes(f"reply:{word}", step="item"), fate, provider, told=told,
                most_bought=MOST_BOUGHT.get(fate, 1.0), checks=_checks(word, provider),
            )  # fmt: skip
        conduct = sometimes("usage:missing", 1.0, step="item")
        yield batch("batch, replies", "usage missing", conduct, KEPT, provider, told="token counts")


def _batch_files() -> Iterable[Case]:
    def spoiled(word: str, fate: Fate, most: float, provider: str = "openai", **more: Any) -> Case:
        conduct = sometimes(f"rows:{word}", 1.0, step="results")
        return batch("batch, files", word, conduct, fate, provider, most_bought=most, unclear=True, **more)

    for word in LOSES_A_ROW:
        yield spoiled(word, HEALED, ONE_ROW, disowned=word == "error-text")
    for word in LOSES_NOTHING:
        yield spoiled(word, KEPT, 1.0, checks=(none_live,))
    yield spoiled("page", ANY, ALL_AGAIN, told="cannot be read")
    for provider in ("openai", "anthropic"):
        yield spoiled("truncated", HEALED, TWO_ROWS, provider)
        yield spoiled("empty", ANY, ALL_AGAIN, provider)
    yield spoiled("corrupt", HEALED, ONE_ROW, "anthropic")
    broken = at("results", "rows:empty", "rows:truncated", "404", "cut")
    yield batch("batch, files", "broken twice, then whole", broken, statuses=WHOLE)


def _batch_states() -> Iterable[Case]:
    for provider in ("openai", "anthropic"):
        for word in LASTING:
            conduct = sometimes(f"card:{word}", 1.0, step="poll")
            yield batch("batch, states", word, conduct, KEPT, provider, checks=(none_live,))
        for word in PASSING:
            conduct = at("poll", *[f"card:{word}"] * 2)
            yield batch("batch, states", word, conduct, KEPT, provider, checks=(none_live,))
    yield batch(
        "batch, states", "stuck for good", sometimes("card:status-stuck", 1.0, step="poll"), told="paused_for_review",
        service={"rescue_after": 2.0}, statuses=WHOLE, most_bought=2.0, unclear=True,
    )  # fmt: skip
    for word, told in NO_FILE.items():
        yield batch(
            "batch, states", word, sometimes(f"card:{word}", 1.0, step="poll"), told=told, statuses=WHOLE,
            most_bought=ALL_AGAIN, unclear=True, disowned=word.startswith("failed"),
        )  # fmt: skip
    elsewhere = sometimes("card:results-elsewhere", 1.0, step="poll")
    yield batch(
        "batch, states", "results elsewhere", elsewhere, provider="anthropic", statuses=WHOLE, most_bought=2.0,
        unclear=True, checks=(no_stray,),
    )  # fmt: skip


def _batch_creation() -> Iterable[Case]:
    for provider in ("openai", "anthropic"):
        for word in ("500", "404"):
            conduct = sometimes(word, 1.0, step="create")
            yield batch("batch, creation", f"{word} for ever", conduct, provider=provider, told="live", statuses=WHOLE)
        for word in ("lost", "lost-500", "card:id-missing"):
            name = f"once {word.partition(':')[2] or word}"
            yield batch("batch, creation", name, at("create", word), provider=provider, statuses=WHOLE)
    for status in ("404", "413"):
        conduct = sometimes(status, 1.0, step="upload")
        yield batch("batch, creation", f"upload {status}", conduct, told="live", statuses=WHOLE)
    fails = {"rates": {"create": {"500": 1.0}, "list": {"500": 1.0}}}
    yield batch("batch, creation", "the list fails too", fails, told="live", statuses=WHOLE, unclear=True)
    polls = at("poll", "500", "garbage", "drop", "404")
    yield batch("batch, polls", "polls fail for a while", polls, statuses=WHOLE, service={"timeout": 2.0})


TABLES: tuple[Callable[[], Iterable[Case]], ...] = (
    *(_replies, _usage, _transport, _refusals, _servers),
    *(_batched_replies, _batch_files, _batch_states, _batch_creation),
)
CASES: tuple[Case, ...] = tuple(case for table in TABLES for case in table())
TITLES = {case.title: case for case in CASES}
