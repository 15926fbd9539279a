"""Coding one by one: committed at once, taken up again, taken back; blinded; several coders, growing samples, CSV."""

import csv
import shutil
from pathlib import Path

import pytest

from tests.engine.coding.coded import code_all, played_game, played_simulation
from tests.storage.test_plain_text import steers
from tests.support.all_kinds import file_of_all_kinds
from tests.support.poison import POISON
from tests.support.state import change, query
from tidepool.engine.coding.sample import CodeBook
from tidepool.engine.coding.session import CodingSession, coder_name, key_of, read_codes, write_sample
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.publishing.reuse import import_file
from tidepool.engine.results.summary import summarise


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played_game(tmp_path_factory.mktemp("game") / "study.db", talks=40)


@pytest.fixture
def path(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(played, tmp_path / "study.db"))


def test_each_code_is_in_the_file_at_once_and_another_session_goes_on(path: Path) -> None:
    session = CodingSession(path, "last", "ann", size=20)
    order = []
    for code in ("yes", "no", "unclear"):
        subject = session.subject()
        assert subject is not None
        order.append(subject.place)
        session.code(subject, code)
        assert query(path, "SELECT code FROM codes ORDER BY at DESC LIMIT 1") == [(code,)]
    later = CodingSession(path, "last", "ann")
    assert later.progress == "3 of 20" and later.next == session.next and list(later.own_codes) == order
    assert CodingSession(path, "last", "bob").next == order[0], "everybody codes the same sample"


def test_undo_goes_back_through_earlier_sessions_and_skipping_puts_off(path: Path) -> None:
    session = CodingSession(path, "last", "ann", size=4)
    first, second = (one.place for one in session.sample.chosen[:2])
    session.skip()
    assert session.next == second
    subject = session.subject()
    assert subject is not None
    session.code(subject, "yes")
    again = CodingSession(path, "last", "ann")
    assert again.undo() and again.next == second and not again.undo()
    assert query(path, "SELECT count(*) FROM code") == [(0,)]
    for _ in range(4):
        shown = again.subject()
        assert shown is not None
        again.code(shown, "no")
    assert again.next is None and again.subject() is None and first in again.own_codes


def test_a_coder_sees_what_was_said_and_the_secret_and_nothing_that_tells_a_verdict_or_a_model(path: Path) -> None:
    session = CodingSession(path, "last", "ann", size=40)
    code_all(path, "bob")
    for _ in range(12):
        subject = session.subject()
        assert subject is not None
        number, side = subject.place
        (outcome,) = query(
            path, f"SELECT agent, secret FROM outcome WHERE unit_id & 4294967295 = {number} AND side = {side}"
        )
        assert (subject.agent, subject.secret) == outcome
        assert {one.speaker for one in subject.quotes} == {"this side", "partner"}
        assert [one.is_coded for one in subject.quotes] == [turn % 2 == side for turn in range(3)]
        session.skip()


def test_a_sample_grows_and_is_drawn_anew_without_losing_a_code(path: Path) -> None:
    code_all(path, "ann", size=10)
    before = CodingSession(path, "last", "ann").sample
    larger = CodingSession(path, "last", "ann", size=24)
    assert larger.progress == "10 of 24" and len(larger.sample.chosen) == 24
    weights = {one.place: one.weight for one in larger.sample.chosen}
    stored = query(path, "SELECT unit_id & 4294967295, side, weight FROM code")
    assert len(stored) == 10 and all(weights[row[:2]] == row[2] for row in stored), "weights follow"  # type: ignore[index]
    with pytest.raises(UsageError, match="already has 24 sides"):
        CodingSession(path, "last", "ann", size=10)
    smaller = CodingSession(path, "last", "ann", size=8, redraw=True)
    assert query(path, "SELECT count(*), count(weight) FROM code") == [(10, 8)], "no code is lost"
    assert smaller.progress == "8 of 8" and set(smaller.sample.chosen) != set(before.chosen)


def test_a_batch_that_has_gone_on_is_told_and_its_sample_does_not_grow(path: Path) -> None:
    code_all(path, "ann", size=10)
    change(path, "DELETE FROM outcome WHERE unit_id = (SELECT max(unit_id) FROM outcome)")
    assert summarise(path, "last")["statistics"]["coding"]["sides"]["outdated"] is True
    with pytest.raises(UsageError, match="new conversations since"):
        CodingSession(path, "last", "ann", size=20)
    sample = CodingSession(path, "last", "ann", redraw=True).sample
    assert len(sample.chosen) == 10, "as many as before"


def test_codes_and_their_sample_go_along_with_a_batch_into_another_file(path: Path, tmp_path: Path) -> None:
    for coder, most in (("ann", 12), ("bob", 12), ("cy", 3)):
        code_all(path, coder, most, size=12)
    export_batch(path, "last", "sqlite", tmp_path / "one.db")
    other = file_of_all_kinds(tmp_path / "other.db")
    (batch_id,) = import_file(other, tmp_path / "one.db").batches
    told = summarise(other, batch_id)["statistics"]["coding"]
    assert told == summarise(path, "last")["statistics"]["coding"]
    pairs = {tuple(row["coders"]): row["kappa"] is not None for row in told["sides"]["agreement"]}
    assert pairs == {("ann", "bob"): True, ("ann", "cy"): False, ("bob", "cy"): False}, "three sides tell nothing"
    goes_on = CodingSession(other, batch_id, "cy")
    assert goes_on.progress == "3 of 12" and goes_on.subject() is not None


def test_what_cannot_be_coded_is_told(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1 to 100,000"):
        CodingSession(path, "last", "ann", size=0)
    for name in ("", " ", "x" * 101, "a\nb", "\x1b[2J"):
        with pytest.raises(UsageError, match="coder's name"):
            coder_name(name)
    assert coder_name(" Ann B. ") == "Ann B." and coder_name(None)
    other = file_of_all_kinds(tmp_path / "v1.db")
    with pytest.raises(UsageError, match="nothing to code by hand"):
        CodingSession(other, "20faf7356319", "ann")
    subject = CodingSession(other, "0c13f5c60828", "ann").subject()
    assert subject is not None and subject.secret


@pytest.mark.parametrize(
    ("scale", "keys", "reads"),
    [
        (None, "yn?", {"Y": "yes", " No ": "no", "?": "unclear", "Cannot  tell": "unclear", "maybe": None, "1": None}),
        (
            (1, 5),
            "12345?",
            {"3": "3", "3,5": "3.5", "'4": "4", "0": None, "6": None, "nan": None, "yes": None, "٣": None},
        ),
        ((0, 10), "?", {"10": "10", "0.0": "0", "11": None, "unclear": "unclear", "1e1": None, "1.2.3": None}),
        ((-2, 2), "?", {"-1": "-1", "−1": "-1", "'-2": "-2", "+2": "2"}),
    ],
)
def test_what_a_code_may_be(scale: tuple[float, float] | None, keys: str, reads: dict[str, str | None]) -> None:
    book = CodeBook("?", scale)
    assert "".join(book.keys) == keys and {word: book.read(word) for word in reads} == reads
    assert book.typed == (keys == "?")


# -- CSV -----------------------------------------------------------------------------------------------------


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_sample_goes_out_blinded_and_codes_come_back_whatever_a_spreadsheet_made_of_it(
    path: Path, tmp_path: Path
) -> None:
    change(path, "UPDATE call SET text = ? || text WHERE turn = 1", POISON)
    code_all(path, "bob", size=12)
    session = CodingSession(path, "last", "ann")
    file = tmp_path / "sample.csv"
    assert write_sample(session, file) == 12
    with pytest.raises(UsageError, match="already exists, and its codes would be lost"):
        write_sample(session, file)
    found = table(file)
    assert {row["code"] for row in found} == {""}, "not the codes of others"
    assert [row["key"] for row in found] == [key_of(session.batch_id, one.place) for one in session.sample.chosen]
    assert not any(steers(sign) for row in found for cell in row.values() for sign in cell.replace("\n", ""))
    assert all(row["key"].startswith("k") for row in found), "else a spreadsheet makes numbers of some of them"
    assert not {"agent", "verdict", "model", "revealed"} & set(found[0]) and "marigold" in {
        row["secret"] for row in found
    }
    codes = ["YES", "n", "?", "", *["no"] * 8]
    lines = [
        "Note;CODE;Key",
        *(f"x;{code};{row['key']}" for row, code in zip(reversed(found), codes, strict=True)),
        ";;",
    ]
    edited = tmp_path / "edited.csv"
    edited.write_text("\r\n".join(lines), encoding="utf-8")
    assert read_codes(session, edited) == {"new": 11, "changed": 0, "same": 0, "empty": 1}
    again = CodingSession(path, "last", "ann")
    places = [one.place for one in reversed(session.sample.chosen)]
    assert [again.own_codes.get(place) for place in places[:5]] == ["yes", "no", "unclear", None, "no"]
    edited.write_bytes("\n".join(lines).replace(";YES;", ";no;").replace("x;", "\xe9;").encode("latin-1"))
    assert read_codes(again, edited) == {"new": 0, "changed": 1, "same": 10, "empty": 1}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda text, key: text.replace(key, "feedfeedfeed"), "line 2: 'feedfeedfeed' is not a key"),
        (lambda text, key: text.replace(f"{key},no", f"{key},perhaps"), "line 2: 'perhaps' is not a code"),
        (lambda text, key: text + f"{key},yes\n", "line 6: the key .* is already in line 2"),
        (lambda text, key: text + f"{key},no\n", "is already in line 2"),
        (lambda text, key: text.replace("key,", "kee,"), "one column 'key'"),
        (lambda text, key: text.replace("key,code", "key,code,code"), "one column 'code'"),
        (lambda text, key: "", "one column 'key'"),
        (lambda text, key: text + '"' + "\0", "not a key of this sample|cannot be read as CSV"),
    ],
)
def test_a_file_with_a_mistake_in_it_is_taken_not_at_all(path: Path, tmp_path: Path, change, complaint: str) -> None:
    session = CodingSession(path, "last", "ann", size=4)
    keys = [key_of(session.batch_id, one.place) for one in session.sample.chosen]
    file = tmp_path / "codes.csv"
    file.write_text(change("key,code\n" + "".join(f"{key},no\n" for key in keys), keys[0]))
    with pytest.raises(UsageError, match=complaint):
        read_codes(session, file)
    assert query(path, "SELECT count(*) FROM code") == [(0,)]


def test_a_file_that_is_not_there_or_cannot_be_written_is_told(path: Path, tmp_path: Path) -> None:
    session = CodingSession(path, "last", "ann", size=4)
    with pytest.raises(UsageError, match="cannot be read"):
        read_codes(session, tmp_path / "none.csv")
    with pytest.raises(FileError, match="Cannot write"):
        write_sample(session, tmp_path / "study.db" / "x.csv")


def test_ratings_of_a_simulation_go_out_and_in_as_numbers(tmp_path: Path) -> None:
    path = played_simulation(tmp_path / "study.db", talks=12)
    session = CodingSession(path, "last", "ann", size=6)
    subject = session.subject()
    assert subject is not None and subject.secret is None and subject.about == subject.agent
    assert {one.is_coded for one in subject.quotes} == {True, False}
    session.code(subject, "4")
    write_sample(session, tmp_path / "out.csv")
    assert [row["code"] for row in table(tmp_path / "out.csv")] == ["4.0", "", "", "", "", ""]
    counts = read_codes(CodingSession(path, "last", "bob"), tmp_path / "out.csv")
    assert counts == {"new": 1, "changed": 0, "same": 0, "empty": 5}
