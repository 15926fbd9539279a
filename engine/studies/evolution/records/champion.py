"""What a finished evolution is for: its winning prompt, ready to be given to an agent of a game."""

import sqlite3

from tidepool.engine.errors import NotFound
from tidepool.engine.studies.evolution.genome import join_segments, split_segments
from tidepool.engine.studies.evolution.placeholders import unframed
from tidepool.engine.studies.evolution.statistics import evolution_statistics
from tidepool.storage.batches import find_batch


def champion_prompt(connection: sqlite3.Connection, reference: str) -> str:
    """The champion's prompt of a batch, named by id, prefix or `last`, without what stands around its question: it fits an
    agent's `instructions`."""
    batch = find_batch(connection, reference)
    if batch["kind"] != "evolution":
        raise NotFound(f"Batch {batch['id']} is a {batch['kind']}: only an evolution has a champion.")
    champion = evolution_statistics(connection, batch["number"], "").champion
    if champion is None:
        raise NotFound(f"Batch {batch['id']} has no champion yet: not one generation is judged.")
    return join_segments(unframed(split_segments(champion.prompt))[0])
