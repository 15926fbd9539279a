"""Several objectives: the front of prompts between which there is a choice."""

from collections.abc import Iterator, Mapping

from tidepool.engine.results.blocks import Block, Cell, Estimate, Figure, Series, Words, table
from tidepool.engine.studies.evolution.evaluation.objectives import objectives
from tidepool.engine.studies.evolution.statistics import EvolutionStatistics, Measured

SHARES = ("accuracy", "consistency", "efficiency", "diversity")


def front_blocks(found: EvolutionStatistics) -> Iterator[Block]:
    """Prompts that no other beats in every objective: which of them is best is for the reader to say."""
    goals = objectives(found.objectives or ())
    if not found.front or not goals:
        return
    rows: list[tuple[Cell, ...]] = [
        (f"{place}", one.genome_id, one.generation, *(_measured(goal.name, one.held_out[goal.name]) for goal in goals))
        for place, one in enumerate(found.front, 1)
    ]
    columns = ("", "prompt", "generation", *(f"{goal.text} (95 %)" for goal in goals))
    yield table("the front on held-out problems", columns, rows, left=2)
    first, second = goals[:2]
    yield Figure(
        "points",
        f"the front: {first.text} and {second.text}",
        tuple(_point(f"{place}", first.name, second.name, one.held_out) for place, one in enumerate(found.front, 1)),
        xlabel=named(second.name),
        ylabel=named(first.name),
        caption="On held-out problems, which chose none of them; bars are 95 % intervals over problems.",
    )
    for place, one in enumerate(found.front, 1):
        yield Words(f"{place}: {one.genome_id}", "strong")
        yield Words(one.prompt, "quoted")


def _point(name: str, first: str, second: str, found: Mapping[str, Measured]) -> Series:
    up, across = found[first], found[second]
    return Series(
        name,
        (scaled(first, up.value),),
        (scaled(second, across.value) or 0.0,),
        intervals=(_bounds(first, up),),
        across=(_bounds(second, across),),
    )


def named(measure: str) -> str:
    return f"{measure} (%)" if measure in SHARES else measure


def scaled(measure: str, value: float | None) -> float | None:
    return None if value is None else 100 * value if measure in SHARES else value


def _bounds(measure: str, one: Measured) -> tuple[float, float] | None:
    if one.ci95 is None:
        return None
    low, high = (scaled(measure, end) or 0.0 for end in one.ci95)
    return low, high


def _measured(measure: str, one: Measured) -> Estimate:
    digits = 3 if measure not in (*SHARES, "tokens", "words") else 1
    return Estimate(scaled(measure, one.value), _bounds(measure, one), digits, " %" if measure in SHARES else "")
