"""One small study against each adversarial server, run by the command, with what it completed, bought and reported.

The cases are in tests/adversarial_servers.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.adversarial_servers.case import Case, Seen, played
from tests.adversarial_servers.cases import CASES
from tidepool.engine.bench import Measurement, at_least, at_most

AT_ONCE = 6
INTRODUCTION = """# Evidence: adversarial servers

Back to the [summary](../evidence.md).

Each row is a small study that the command runs against a server that misbehaves in one way. You can repeat all of them with
`make prove ONLY=adversarial_servers`.

- *Completed* is the share of conversations that completed. The others are *missing*, and no statistic counts them.
- *Bought ÷ needed* compares what the server sold, by its own records, with the requests that the study needed.
- *Counted* is what the study file records as bought, and what the server sold.
- *First message* is the first line of the log, or the error of the conversation, that concerns the case."""
ROUTINE = re.compile(r"started|will be shut down on|takes no temperature|^Wave \d+ ended|^Planned", re.IGNORECASE)
"""lines of a log that do not concern the case"""
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "adversarial_servers.md"
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
    yield at_least("adversarial cases", len(seen), "", 80)
    yield at_least("handled as declared, share", 1 - len(wrong) / len(seen), "", 1.0, ", ".join(wrong[:5]))
    yield at_most("cases that hang", sum(one.hung for _, one in seen), "", 0)
    ended = sum(any(words.startswith("ended") for words in one.wrongs) for _, one in seen)
    yield at_most("runs ended by an invalid value", ended, "", 0)
    findings = sum(any(words.startswith("finding") for words in one.wrongs) for _, one in seen)
    yield at_most("cases with a result from an invalid reply", findings, "", 0)
    uncounted = sum(one.bought < one.sold and not case.disowned for case, one in seen)
    yield at_most("cases where the server sold more than the file counts", uncounted, "", 0)
    for group in dict.fromkeys(case.group for case, _ in seen):
        worst, name = max((one.ratio, case.name) for case, one in seen if case.group == group)
        most = max(case.most_bought for case, _ in seen if case.group == group)
        yield at_most(f"bought ÷ needed, worst of “{group}”", worst, "", most, name)


def page(seen: Sequence[Result]) -> str:
    lines = [INTRODUCTION]
    for group in dict.fromkeys(case.group for case, _ in seen):
        lines += ["", f"## {group.capitalize()}", ""]
        lines += [
            "| case | completed | missing | bought ÷ needed | counted | first message | result |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [_row(case, one) for case, one in seen if case.group == group]
    return "\n".join(lines) + "\n"


def _row(case: Case, seen: Seen) -> str:
    message = seen.first_error or next((line for line in seen.log if not ROUTINE.search(line)), "")
    short = message if len(message) <= 100 else message[:99] + "…"
    plain = short.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    verdict = "ok" if not seen.wrongs else f"**{'; '.join(seen.wrongs)[:120]}**".replace("|", "\\|").replace("\n", " ")
    return (
        f"| {case.name} | {seen.kept:.0%} | {seen.missing} | {seen.ratio:.2f} | {seen.bought} of {seen.sold} "
        f"| {plain} | {verdict} |"
    )
