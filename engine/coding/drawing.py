"""A batch's sample in its file: drawn once, made larger, drawn anew. What was coded is never lost by it."""

import sqlite3
from pathlib import Path

from tidepool.engine.coding.frame import default_instrument, frame_of
from tidepool.engine.coding.sample import Instrument, Sample, Unit, drawn
from tidepool.engine.errors import UsageError
from tidepool.engine.streams import stream
from tidepool.storage.batches import find_batch, refuse_running
from tidepool.storage.codes import put_sample
from tidepool.storage.file import reading
from tidepool.storage.queries.summary import finding

SIZE = 100
LARGEST = 100_000


def name_of(unit: Unit) -> str:
    """Under which the file keeps it."""
    return f"coding.{unit}"


def sample_of(connection: sqlite3.Connection, batch_number: int, unit: Unit) -> Sample | None:
    found = finding(connection, batch_number, name_of(unit))
    return None if found is None else Sample.from_json(found)


def sampled(
    path: Path,
    reference: str,
    unit: Unit = "sides",
    *,
    size: int | None = None,
    instrument: Instrument | None = None,
    redraw: bool = False,
) -> Sample:
    """The batch's sample; drawn where there is none yet, where it is to be larger, or where it is asked for anew."""
    with reading(path) as connection:
        batch = dict(find_batch(connection, reference))
        there = sample_of(connection, batch["number"], unit)
        if there and not redraw and _enough(there, size, instrument):
            return there
        refuse_running(path, batch["id"])
        if size is not None and not 1 <= size <= LARGEST:
            raise UsageError(f"A sample has 1 to {LARGEST:,} {unit}, not {size:,}.")
        draw = 1 if there is None else there.draw + redraw
        by = instrument or (there.instrument if there and not redraw else default_instrument(batch))
        frame = frame_of(connection, batch, unit, by)
        lots = stream(batch["seed"], "coding", unit, by, draw)
        new = drawn(frame.candidates, size or size_as_before(there), lots, unit, by, draw)
    if not new.chosen:
        raise UsageError(
            f"Batch {batch['id']} has nothing to code yet: no conversation with a verdict has come to its end."
        )
    if there and not redraw and new.strata != there.strata:
        raise UsageError(
            f"Batch {batch['id']} has gone on since its sample was drawn, so it cannot be made larger. Draw it anew with "
            "--redraw: codes of sides that are drawn again count on, the others are kept and stand for nothing."
        )
    weights = [(one.place, one.weight) for one in new.chosen]
    put_sample(path, batch["id"], name_of(unit), new.as_json(), weights, turns=unit == "messages")
    return new


def size_as_before(there: Sample | None) -> int:
    """As before; a sample of all the talks that there were grows with the batch."""
    if there is None or (len(there.chosen) == there.talks and there.talks < SIZE):
        return SIZE
    return len(there.chosen)


def _enough(there: Sample, size: int | None, instrument: Instrument | None) -> bool:
    """Raises where something else is asked for than a larger one."""
    if instrument not in (None, there.instrument):
        raise UsageError(
            f"The sample was drawn by the verdicts of the {there.instrument}. Its codes tell the errors of every instrument; "
            "for a sample by another one's verdicts add --redraw."
        )
    if size is not None and size < len(there.chosen):
        raise UsageError(
            f"The sample has {len(there.chosen):,} {there.unit} already; it can be made larger, or drawn anew with --redraw."
        )
    return size is None or size == len(there.chosen) or len(there.chosen) == there.talks
