"""Hostile servers, one small study each, through the command: what was kept, missing, bought and told. See tests/adversarial_servers."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.adversarial_servers.case import Case, Seen, played
from tests.adversarial_servers.cases import CASES
from tidepool.engine.bench import Measurement, at_least, at_most

AT_ONCE = 6
PAGE = Path(__file__).parent.parent / "docs" / "hostile.md"
Result = tuple[Case, Seen]


async def results() -> list[Result]:
    places = asyncio.Semaphore(AT_ONCE)

    async def play(case: Case) -> Result:
        async with places:
            return case, await played(case)

    return list(await asyncio.gather(*(play(case) for case in CASES)))


def prove() -> Iterator[Measurement]:
    seen = asyncio.run(results())
    PAGE.write_text(page(seen))
    wrong = [case.title for case, one in seen if one.wrongs]
    yield at_least("hostile cases", len(seen), "", 80)
    yield at_least("as declared, share", 1 - len(wrong) / len(seen), "", 1.0, ", ".join(wrong[:5]))
    yield at_most("cases that hang", sum(one.hung for _, one in seen), "", 0)
    ended = sum(any(words.startswith("ended") for words in one.wrongs) for _, one in seen)
    yield at_most("runs ended by an odd value", ended, "", 0)
    findings = sum(any(words.startswith("finding") for words in one.wrongs) for _, one in seen)
    yield at_most("cases with a finding from what is no answer", findings, "", 0)
    uncounted = sum(one.bought < one.sold and not case.disowned for case, one in seen)
    yield at_most("cases where the server sold more than the file counts", uncounted, "", 0)
    for group in dict.fromkeys(case.group for case, _ in seen):
        worst, name = max((one.ratio, case.name) for case, one in seen if case.group == group)
        most = max(case.most_bought for case, _ in seen if case.group == group)
        yield at_most(f"bought ÷ needed, worst of “{group}”", worst, "", most, name)


def page(seen: Sequence[Result]) -> str:
    lines = [
        "# Hostile servers",
        "",
        "Each row is a small study, run by the command against a server that is odd in one way (`make prove ONLY=adversarial_servers`). *Kept*",
        "is the share of its conversations that completed; the others are missing, and no statistic counts them. *Bought ÷ needed*",
        "is what the server sold by its own books, by question. *Counted* is what the file says was bought. *Told* is what the log",
        "or the unit's error says first.",
    ]
    for group in dict.fromkeys(case.group for case, _ in seen):
        lines += ["", f"## {group.capitalize()}", ""]
        lines += [
            "| case | kept | missing | bought ÷ needed | counted | told | |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [_row(case, one) for case, one in seen if case.group == group]
    return "\n".join(lines) + "\n"


def _row(case: Case, seen: Seen) -> str:
    told = seen.first_error or next((words for words in seen.log if "started" not in words.lower()), "")
    short = told if len(told) <= 100 else told[:99] + "…"
    plain = short.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    verdict = "ok" if not seen.wrongs else f"**{'; '.join(seen.wrongs)[:120]}**".replace("|", "\\|").replace("\n", " ")
    return (
        f"| {case.name} | {seen.kept:.0%} | {seen.missing} | {seen.ratio:.2f} | {seen.bought} of {seen.sold} "
        f"| {plain} | {verdict} |"
    )
