"""Foreign text is shown, never obeyed; and everyday text of every script stays as it is."""

import csv
import io
import json
from typing import Any
from unicodedata import bidirectional, category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.foreign_texts import EVERYDAY, LONG, NASTY, RESHAPED
from tests.support.html_page import Page
from tidepool.engine.reports.html import element, page
from tidepool.storage.text import MARK, in_document, json_text, one_line, plain, shortened
from tidepool.storage.transfer.formats import harmless, write_rows

DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS_OF_DIRECTION = "\u061c\u200e\u200f"
JOINERS = "\u200c\u200d"
SEEN = "\u06dd"
FORMULA = "=+-@|%\uff1d\uff0b\uff0d\uff20\ufe66\u2212"


def steers(character: str) -> bool:
    """By Unicode's own tables, not by those of the program."""
    kind = category(character)
    return (
        (kind == "Cc" and character != "\n")
        or kind in ("Zl", "Zp", "Cs")
        or bidirectional(character) in DIRECTIONS
        or character in MARKS_OF_DIRECTION
        or (kind == "Cf" and character not in JOINERS + SEEN)
    )


def on_a_terminal(text: str) -> str | None:
    shown = plain(text)
    if found := [character for character in shown if steers(character)]:
        return f"{found!r} are left"
    if "\n" in one_line(text):
        return "a line is two"
    if any(joiner in shown for joiner in JOINERS) and text.isascii():
        return "a joiner among Latin letters"
    if category(text[:1] or "x") == "Cc" and text[0] not in "\n\t\r" and MARK not in shown:
        return "nothing shows that something was there"
    shown.encode()
    return None


def on_a_page(text: str) -> str | None:
    read = Page(page(text, element("p", text, class_=text)))
    bare = Page(page("x", element("p", "x", class_="x")))
    if read.tags != bare.tags or [name for name, _ in read.attributes] != [name for name, _ in bare.attributes]:
        return f"{read.tags} {read.attributes}"
    shown = in_document(text)
    if read.texts.count(shown) != (3 if shown else 0) or ("class", shown) not in read.attributes:
        return f"it reads {read.texts}"
    found = [character for character in "".join(read.texts) if steers(character) and character != "\t"]
    tags = "\U0001f3f4" in text
    return f"{found!r} are left" if found and not tags else None


def in_a_table(text: str) -> str | None:
    stream = io.StringIO(newline="")
    write_rows(stream, [text], [[text, 5, -3]])
    stream.seek(0)
    read = list(csv.reader(stream))
    if len(read) != 2 or read[1][1:] != ["5", "-3"] or read[0] != read[1][:1]:
        return f"it reads {read}"
    cell = read[1][0]
    if cell.lstrip(' \t\n\xa0\u3000"' + MARK)[:1] in tuple(FORMULA) or cell[:1] in ("\t", "\n"):
        return f"{cell[:20]!r} is a formula"
    if (cell.removeprefix("'") if cell != in_document(text) else cell) != in_document(text):
        return f"it reads {cell[:40]!r}"
    found = [character for character in cell if steers(character) and character != "\t"]
    return f"{found!r} are left" if found and "\U0001f3f4" not in text else None


def in_json(text: str) -> str | None:
    written = json_text({text: [text]})
    if json.loads(written) != {text: [text]}:
        return "it is changed"
    found = [character for character in written if steers(character) or character in JOINERS]
    written.encode()
    return f"{found!r} are left" if found else None


PLACES = {"terminal": on_a_terminal, "page": on_a_page, "table": in_a_table, "json": in_json}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_strangers_write_is_obeyed_anywhere(place: str) -> None:
    found = {name: PLACES[place](text) for name, text in NASTY.items()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_everyday_text_of_every_script_stays_as_it_is() -> None:
    assert {name: plain(text) for name, text in EVERYDAY.items()} == EVERYDAY
    assert {name: in_document(text) for name, text in EVERYDAY.items()} == EVERYDAY
    assert not [name for name, text in EVERYDAY.items() if in_a_table(text) or on_a_page(text) or in_json(text)]


@pytest.mark.parametrize("name", RESHAPED)
def test_what_a_terminal_cannot_show_alike_is_shown_in_parts_and_stays_whole_in_a_document(name: str) -> None:
    text, shown, written = RESHAPED[name]
    assert plain(text) == shown
    assert in_document(text) == (written or text)
    assert json.loads(json_text(text)) == text


@pytest.mark.parametrize("name", LONG)
def test_what_is_long_is_cut_before_anybody_measures_it(name: str) -> None:
    text = LONG[name]
    assert len(one_line(text)) <= 501 and len(shortened(text)) <= 4 * 4_100
    assert max(map(len, plain(text).split("\n"))) <= 4 * len(text)


def test_accents_without_end_are_few() -> None:
    assert plain(LONG["a megabyte of accents"]) == "e" + "\u0301" * 8 + MARK


def test_what_is_plain_is_not_looked_at_again() -> None:
    shown = plain("a\x1bb")
    assert plain(shown) is shown == f"a{MARK}b"


# -- cells that a spreadsheet would run ---------------------------------------------------------------


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
