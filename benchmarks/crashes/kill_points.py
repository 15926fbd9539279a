"""kill -9 at every step of a provider batch's life: calls bought ÷ needed after --resume, by the provider's own books.

The providers are the emulator of the test suite, a real HTTP server; the client is the real command with the real
SDKs, killed in the first and in the second wave.
"""

import asyncio
from collections.abc import Iterator

from tests.engine.providers.kills import POINTS, killed_and_resumed
from tidepool.engine.bench import Measurement, at_most

WAVES = (1, 2)


def prove() -> Iterator[Measurement]:
    for point in POINTS:
        for provider in point.providers:
            for wave in WAVES if point.at else WAVES[:1]:
                verdict = asyncio.run(killed_and_resumed(provider, point, wave))
                complete = verdict.summary["status"] == "completed"
                ratio = verdict.ratio if complete and verdict.ratio >= 1 else float("inf")
                name = f"{provider}, wave {wave}: {point.step}"
                yield at_most(name, ratio, "bought ÷ needed", 1.0)


if __name__ == "__main__":
    for figure in prove():
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.value:.2f}  {figure.name}", flush=True)
