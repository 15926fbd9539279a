"""A batch of a stranger's file becomes the user's own: by `tidepool trust add`, by a yes to the question, or by `--set`."""

from pathlib import Path

from tidepool.engine.errors import NotTrusted
from tidepool.engine.trust.record import config_hash, trust_record
from tidepool.storage import batches, locks
from tidepool.storage.file import reading, settle
from tidepool.storage.reading import search


def adopt(path: Path, batch_id: str, config: str) -> None:
    """With this very config, as it was shown. Nobody else runs or changes the batch meanwhile."""
    with locks.holding(path, batch_id):
        refuse_changed(path, batch_id, config)
        take_over(path)
        trust_record().vouch(batch_id, config)
    settle(path)


def refuse_changed(path: Path, batch_id: str, config: str) -> None:
    """To be looked at while the batch's lock is held: what was shown, or judged, is what the file still says."""
    with reading(path) as connection:
        if batches.find_batch(connection, batch_id)["config"] != config:
            raise NotTrusted(
                f"The config of batch {batch_id} was changed by somebody a moment ago. Nothing was sent: try again."
            )


def take_over(path: Path) -> None:
    """What an adopted file brought along besides data is made anew: its search index was filled by somebody else."""
    search.drop(path)


def approval_of(path: Path, batch_id: str) -> str | None:
    """The hash by which another process can be told that this one knows the batch as it is now; None: it does not."""
    with reading(path) as connection:
        config = batches.find_batch(connection, batch_id)["config"]
    return config_hash(config) if trust_record().knows(batch_id, config) else None
