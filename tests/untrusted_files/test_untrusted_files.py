"""A stranger's file gets no key, no call and no write, and is told of in words. The whole corpus: `make prove ONLY=untrusted_files`."""

from pathlib import Path

import pytest

from tests.untrusted_files.cases import CASES
from tests.untrusted_files.driving import AGAIN, READING, WRITING, staged

LOOKS = ("list", "show last", "show last --conversation 1", "export last --format html", "import FILE")
STEPS = (*(step for step in READING if " ".join(step).partition(" -o")[0] in LOOKS), AGAIN, *WRITING[:2])
SAMPLE = {
    "schema: a trigger on batch": "trigger",
    "schema: an endless view for wave": "the table wave has another definition",
    "schema: file version 0": "version 0",
    "rows: no progress row": "has no progress row",
    "rows: 2 odd values in progress": "progress",
    "trust: a base_url, forged as this machine's": "",
    "trust: a base_url, queued": "",
}
"""title → what must be said of it"""


@pytest.mark.timeout(600)
def test_a_strangers_file_gets_nothing_and_is_told_of_in_words(tmp_path: Path) -> None:
    """All in one test: the honest files, and the process that commands are forked from, are made once."""
    with staged(tmp_path, ("game", "simulation")) as stage:
        seen = [stage.play(case, STEPS, seconds=30.0) for case in CASES if case.title in SAMPLE]
    assert len(seen) == len(SAMPLE)
    assert {one.case.title: one.wrongs for one in seen if one.wrongs} == {}
    said = {one.case.title: "".join(ended.err for ended in one.ended) for one in seen}
    assert [title for title, words in SAMPLE.items() if words not in said[title]] == []
