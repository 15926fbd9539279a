"""Every statement that writes to a study file is built from the SQLModel classes, which only writing loads."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITES = re.compile(r"\b(INSERT (OR \w+ )?INTO|REPLACE INTO|UPDATE [\w\".{}]+ SET|DELETE FROM)\b")


def test_no_statement_that_writes_is_written_by_hand() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for room in ("engine", "storage", "tui")
        for path in (ROOT / room).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if WRITES.search(line)
    }
    assert found == set()
