"""The draft, the desk it lies on, and the file beside that keeps it."""

from pathlib import Path

import pytest

from tidepool.tui.app.compose.draft import (
    Draft,
    DraftHistory,
    anchored,
    config_to_run,
    draft_path,
    fresh,
    keep_draft,
    read_draft,
    replaced,
    template,
)
from tidepool.tui.app.compose.edits import Drop, Put, values_of
from tidepool.tui.app.compose.fields import UNSET

REMARKED = template("secret_game").replace('mode = "standard"', '# a remark\nmode = "targeted"')


def test_another_kind_begins_with_its_template_and_the_old_text_is_kept() -> None:
    history = DraftHistory(Draft(REMARKED))
    history.switch("evolution")
    assert history.draft == Draft(template("evolution"), "", (REMARKED,))


def test_what_another_text_replaces_is_kept_unless_it_is_a_bare_template() -> None:
    first = replaced(fresh(), "a = 1")
    assert first.earlier == ()
    second = replaced(first, "b = 2", "b.toml")
    assert second == Draft("b = 2", "b.toml", ("a = 1",))
    assert replaced(second, "a = 1").earlier == ("b = 2",)


def test_a_draft_comes_back_from_the_file_beside(database: Path) -> None:
    draft = Draft("half = [", "x.toml", ("earlier", "ones"))
    assert read_draft(database) is None
    keep_draft(database, draft)
    assert read_draft(database) == draft
    assert [path.name for path in database.parent.glob("study.db*")] == [draft_path(database).name]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"text": 1, "earlier": 3}', "\x00", "[" * 100_000])
def test_a_damaged_draft_file_is_no_draft_and_no_crash(database: Path, content: str) -> None:
    draft_path(database).write_text(content)
    assert read_draft(database) is None


def test_a_value_cleared_and_typed_anew_keeps_its_place_and_remark() -> None:
    history = DraftHistory(Draft("[batch]\nseed = 42 # lucky\nname = 'x'\n"))
    for value in (4, UNSET, 7, 77):
        history.edit(Put(("batch", "seed"), value))
        history.written()
    assert history.draft.text == "[batch]\nseed = 77 # lucky\nname = 'x'\n"


def test_every_change_is_taken_back_and_done_again_in_its_order() -> None:
    history = DraftHistory(fresh())
    texts = [history.draft.text]

    def done() -> None:
        texts.append(history.written())

    history.edit(Drop(("agents",), 0))
    done()
    history.type_text(f"# mine\n{history.draft.text}")
    history.type_text(f"# all {history.draft.text}")
    done()
    history.switch("mutation")
    done()
    history.edit(Put(("batch", "seed"), 7))
    done()
    told = ["batch.seed", "the kind of study", "the TOML", "agents"]
    for what, text in zip(told, texts[-2::-1], strict=True):
        assert (history.undo(), history.draft.text) == (what, text)
    assert history.undo() is None
    for what, text in zip(told[::-1], texts[1:], strict=True):
        assert (history.redo(), history.draft.text) == (what, text)
    assert history.redo() is None
    history.undo()
    history.edit(Put(("batch", "name"), "Another way"))
    assert history.redo() is None


def test_a_section_that_means_something_by_being_there_goes_with_its_last_key() -> None:
    history = DraftHistory(fresh())
    before = values_of(history.draft.text)
    for value in ("revealed", UNSET):
        history.edit(Put(("stop", "outcome"), value))
        history.written()
    history.edit(Put(("design", "factors"), {"secret_game.mode": ["standard", "retained"]}))
    assert '"secret_game.mode" = ["standard", "retained"]' in history.written()
    history.edit(Put(("design", "factors"), UNSET))
    assert values_of(history.written()) == before == history.values


def test_broken_toml_stays_as_it_was_typed() -> None:
    history = DraftHistory(fresh())
    history.type_text("[batch\nkind =")
    assert not history.readable
    assert history.written() == "[batch\nkind ="
    history.type_text(template("evolution"))
    assert history.readable
    assert history.kind == "evolution"


def test_a_draft_is_run_from_its_own_file_or_from_a_copy_that_finds_the_same_files(tmp_path: Path) -> None:
    folder, logs = tmp_path / "studies", tmp_path / "logs"
    folder.mkdir()
    logs.mkdir()
    (folder / "people.csv").write_text("name\nAda\n")
    text = template("simulation").replace("[simulation]", '[simulation]\nentity_file = "people.csv"')
    source = folder / "study.toml"
    source.write_text(text)
    assert config_to_run(text, str(source), folder, logs) == source
    copy = config_to_run(text + "# changed\n", str(source), folder, logs)
    assert copy.parent == logs and copy.stat().st_mode & 0o777 == 0o600
    assert values_of(copy.read_text())["simulation"]["entity_file"] == str(folder / "people.csv")
    assert anchored(text.replace("people.csv", "nobody.csv"), folder) == text.replace("people.csv", "nobody.csv")
