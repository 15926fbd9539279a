"""`last` and `last~1`: batches named by how long ago they were made, as `tidepool list` has them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tidepool.storage.batches import NewBatch, find_batch, insert_batch
from tidepool.storage.errors import NotFound
from tidepool.storage.file import reading, writing
from tidepool.storage.studies import NewCell, create_study, find_study, study_of

GAME = NewBatch("secret_game", "first", "", 1, "{}", "0")


def test_batches_are_counted_back_and_a_study_is_one_of_them(database: Path) -> None:
    with writing(database) as connection:
        insert_batch(connection, GAME)
    cells = [NewCell(replace(GAME, name=f"cell {place}"), 1, {"a": str(place)}) for place in range(3)]
    study_id, _ = create_study(database, "study", {}, cells)
    with writing(database) as connection:
        insert_batch(connection, replace(GAME, name="newest"))
    with reading(database) as connection:
        found = [find_batch(connection, word)["name"] for word in ("last", "last~0", "last~2")]
        assert found == ["newest", "newest", "first"]
        with pytest.raises(NotFound, match="last~1 is a study of 3 batches, and this command needs one of them"):
            find_batch(connection, "last~1")
        assert study_of(connection, "last") is None and find_study(connection, "last~1").id == study_id
        for word in ("last~3", "last~", "last~-1", "last~x", "last~99999999"):
            with pytest.raises(NotFound, match="`tidepool list` shows the batches of this file"):
                find_batch(connection, word)
