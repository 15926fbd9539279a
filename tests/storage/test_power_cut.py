"""What a loss of power may take: the answers since the last heartbeat, and nothing that was safe before."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam
from sqlmodel import col, update

from tests.support.state import end_state, query
from tests.support.studies import game
from tidepool import resume_batch, run_batch
from tidepool.engine.runtime import session
from tidepool.storage.file import prepare
from tidepool.storage.tables import LibraryType
from tidepool.storage.writer import Writer, compile_statement, insert_into

INSERT = insert_into(LibraryType, "name", "definition", "created_at")
BEAT = compile_statement(
    update(LibraryType).where(col(LibraryType.name) == bindparam("beat")).values(definition=LibraryType.definition),
    rank=1,
)


async def test_a_beat_makes_safe_what_was_committed_before_it_and_lets_the_disk_sleep_else(database: Path) -> None:
    prepare(database)
    writer = Writer(database)
    await writer.open()
    said: list[str] = []
    await writer._connection.set_trace_callback(said.append)

    async def synced(*, answer: bool, beat: bool) -> bool:
        said.clear()
        if answer:
            writer.put(INSERT, (f"{len(said)} {id(said)} {await rows()}", "", 0.0))
        if beat:
            writer.beat(BEAT, ("a",))
        await writer.committed()
        return "PRAGMA synchronous = FULL" in said

    async def rows() -> int:
        return len(query(database, "SELECT 1 FROM library_type"))

    assert not await synced(answer=True, beat=False)
    assert await synced(answer=False, beat=True), "an answer was committed since the last sync"
    assert not await synced(answer=False, beat=True), "nothing happened: nothing is synced"
    assert not await synced(answer=False, beat=True)
    assert await synced(answer=True, beat=True), "in one group"
    assert not await synced(answer=False, beat=True)
    await writer.close()


@dataclass
class Disk:
    """The file as the disk holds it for certain: as it was when it was last synced."""

    folder: Path
    lost: list[int] = field(default_factory=list)
    """at each beat: answers committed before it that the disk does not hold"""

    def copy(self, path: Path) -> None:
        for suffix in ("", "-wal"):
            if Path(f"{path}{suffix}").exists():
                shutil.copy(f"{path}{suffix}", self.folder / f"study.db{suffix}")

    def calls(self) -> int:
        return int(query(self.folder / "study.db", "SELECT count(*) FROM call")[0][0])


async def test_after_a_beat_the_disk_holds_every_answer_that_came_before_and_the_study_goes_on_from_there(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(tmp_path / "disk")
    disk.folder.mkdir()
    write = Writer._write

    async def watched(self: Writer, group: Any) -> None:
        before = self._inner.execute("SELECT count(*) FROM call").fetchone()[0]
        await write(self, group)
        if group.durable:
            disk.copy(self.path)
        if group.beats:
            disk.lost.append(before - (disk.calls() if (disk.folder / "study.db").exists() else 0))

    monkeypatch.setattr(Writer, "_write", watched)
    monkeypatch.setattr(session, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.05)
    study = game(60, 3, simulated={"latency": 0.05}, service={"name": "live", "max_concurrent": 10})
    await run_batch(study, database)
    assert len(disk.lost) > 3 and max(disk.lost) <= 0
    monkeypatch.undo()
    cut = disk.folder / "study.db"
    (batch_id,) = query(cut, "SELECT id FROM batch")[0]
    assert (await resume_batch(batch_id, cut))["status"] == "completed"
    assert end_state(cut) == end_state(database)
