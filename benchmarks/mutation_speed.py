"""What stepping together gains: 16 environments, every call takes 0.1 s, the same study both ways in one run. And what
the simulated voices cost, which thousands of steps wait for.

python -m benchmarks.mutation_speed
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tidepool import Mutation
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.call import Message
from tidepool.engine.config.sections import Providers, Service, SimulatedSettings
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.providers.simulated.mutation import answer_query, judge_answer, rewrite_query
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.studies.mutation.environment.rewards import judge_prompt
from tidepool.engine.studies.mutation.operators import BY_NAME, rewrite_prompt
from tidepool.engine.studies.mutation.queries import builtin_queries
from tidepool.storage.states import StopCode

ENVIRONMENTS, STEPS, LATENCY = 16, 10, 0.1


async def seconds(*, batching: bool) -> float:
    """From the first call of a training to its last answer, start-up excluded; then the batch is stopped."""
    last_wave = 2 * STEPS
    began = ended = 0.0
    control = RunControl()

    def listen(event: Event) -> None:
        nonlocal began, ended
        match event:
            case CallAnswered(wave=wave) if wave <= last_wave:
                ended = time.monotonic()
                began = began or ended - LATENCY
            case CallAnswered():
                control.stop_for(StopCode.STOPPED)

    study = Mutation(
        num_processes=ENVIRONMENTS,
        num_env_steps=ENVIRONMENTS * STEPS,
        use_batching=batching,
        baselines=[],
        service=Service(name="live", max_concurrent=ENVIRONMENTS),
        providers=Providers(simulated=SimulatedSettings(latency=LATENCY)),
    )
    with tempfile.TemporaryDirectory() as folder:
        await run_batch(study, Path(folder) / "study.db", on_event=listen, control=control)
    return ended - began


def voices() -> float:
    """The dearest simulated voice, against taking its question to JSON and back; the best of many short runs of each."""
    queries = builtin_queries()
    rewrite = rewrite_prompt(BY_NAME["shorten"], queries[7].text).messages
    grade = judge_prompt(queries[7].text, queries[7].reference, queries[8].reference).messages
    asked = (Message("user", queries[7].text),)
    ratios = []
    for speak, messages in ((rewrite_query, rewrite), (answer_query, asked), (judge_answer, grade)):
        plain = [message._asdict() for message in messages]
        spoken = _best(lambda seed, speak=speak, messages=messages: speak("m", "", messages, seed))  # type: ignore[misc]
        ratios.append(spoken / _best(lambda seed, plain=plain: json.loads(json.dumps(plain))))  # type: ignore[misc]
    return max(ratios)


def _best(once: Callable[[int], object]) -> float:
    def timed() -> float:
        began = time.perf_counter()
        for seed in range(1, 51):
            once(seed)
        return time.perf_counter() - began

    return min(timed() for _ in range(30))


def prove() -> Iterable[Measurement]:
    yield at_most("the dearest simulated voice ÷ its question to JSON and back", voices(), "×", 5)
    together = asyncio.run(seconds(batching=True))
    apart = asyncio.run(seconds(batching=False))
    yield at_least(
        f"{ENVIRONMENTS} environments stepping together, against one after another",
        apart / together,
        "× faster",
        12,
        f"{LATENCY} s a call: {apart:.1f} s and {together:.2f} s",
    )


if __name__ == "__main__":
    for figure in prove():
        print(f"{figure.name}: {figure.value:.1f} {figure.unit} ({figure.note})")
