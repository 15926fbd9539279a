"""Cells that a spreadsheet would run as a formula are made harmless; everything else stays as it is."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.storage.text import in_document
from tidepool.storage.transfer.formats import harmless, write_rows

FORMULA_SIGNS = tuple("=+-@\t\r\n|%＝＋－＠")


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        '=HYPERLINK("http://x.example","y")',
        "+1",
        "-1+2",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "  =1",
        "＝1+1",
        "|cmd",
        '"=1',
        "'=1",
        "\u200b=1",
    ],
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(cell: str) -> None:
    assert harmless(cell) == "'" + in_document(cell)


@pytest.mark.parametrize("cell", ["", "plain", "1+1", "a=b", None, 0, -1, -2.5, "Ada: hello", "'quoted"])
def test_everything_else_stays(cell: Any) -> None:
    assert harmless(cell) == cell


@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2)))
def test_any_text_comes_back_from_the_file_but_for_the_apostrophe(rows: list[list[str]]) -> None:
    stream = io.StringIO(newline="")
    write_rows(stream, ["a", "b"], rows)
    stream.seek(0)
    read = list(csv.reader(stream))
    assert read[0] == ["a", "b"]
    assert read[1:] == [[harmless(cell) for cell in row] for row in rows]
    assert not any(cell.lstrip().startswith(FORMULA_SIGNS) for row in read[1:] for cell in row)
