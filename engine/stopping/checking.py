"""What is wrong with a [stop], told before anything is bought: the same for every kind."""

from collections.abc import Collection
from itertools import islice

from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.stopping.rules import FIRST_LOOK
from tidepool.engine.stopping.watched import LEAST_BLOCKS, Watched


def refuse_outcome(settings: StopWhenSure, outcomes: Collection[str], kind: str) -> None:
    if settings.outcome not in outcomes:
        told = f"stop.outcome {settings.outcome!r} is none of a {kind}: write {' or '.join(outcomes)}."
        raise UsageError(told, ("stop", "outcome"))


def refuse_line(settings: StopWhenSure, bounds: Interval) -> None:
    """A line must lie between the outcome's bounds, and an interval must be narrower than they are apart."""
    low, high = bounds
    if settings.decided and not low < settings.at < high:
        told = f"stop.line is {settings.at:g}, and {settings.outcome} lies between {low:g} and {high:g}: there is nothing to decide."
        raise UsageError(told, ("stop", "line"))
    if settings.half_width is not None and settings.half_width >= (high - low) / 2:
        told = f"stop.half_width is {settings.half_width:g}, and {settings.outcome} lies between {low:g} and {high:g}: 0.03 is 3 points."
        raise UsageError(told, ("stop", "half_width"))


def refuse_few_blocks(settings: StopWhenSure, watched: Watched, where: Location) -> None:
    """A rule that could never stop is a mistake."""
    ends = list(islice(watched.ends(), LEAST_BLOCKS))
    if settings.decided and not settings.contrast and len(ends) < LEAST_BLOCKS:
        raise few_blocks(watched, 1, where)
    if settings.half_width is not None and (watched.units <= FIRST_LOOK or not ends):
        raise UsageError(
            f"[stop] with half_width looks from {FIRST_LOOK} {watched.noun} on, after whole blocks; {watched.units:,} are planned, "
            "so it could never stop earlier.",
            where,
        )


def few_blocks(watched: Watched, replicates: int, where: Location = ()) -> UsageError:
    """Of a batch, or of so many replicates of a design's cells."""
    size = next(watched.ends(), watched.units)
    each = " of each cell" if replicates > 1 else ""
    return UsageError(
        f"[stop] decides by blocks of {size:,} {watched.noun}, which all have the same mixture, and it takes at least "
        f"{LEAST_BLOCKS} of them; {watched.units:,} {watched.noun}{each} are planned. Plan {size * -(-LEAST_BLOCKS // replicates):,} or "
        "more.",
        where,
    )
