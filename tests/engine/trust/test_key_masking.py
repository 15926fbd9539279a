"""A key reaches neither the file nor the screen, whoever says it: a scorer, code of a reply, a config."""

import json
from pathlib import Path

import pytest

from tests.support.command import Tidepool
from tidepool.storage.text import (
    in_document,
    json_text,
    mask,
    one_line,
    plain,
    shortened,
    storable,
    variables_in,
    watch,
)

KEY = "sk-proj-" + "Zq7x" * 30
"""as long as those of OpenAI, so that a name of 60 characters holds only its beginning"""
EVOLUTION = """
[batch]
kind = "evolution"
[evolution]
population_size = 4
max_generations = 1
max_problems = 4
validation_problems = 4
elite_size = 1
"""
SCORER = """
import os
KEY = os.environ["OPENAI_API_KEY"]
def mark(reply, answer):
    mark.times += 1
    if mark.times == 2:
        raise ValueError("no mark for " + 450 * "x" + KEY)
    if mark.times == 3:
        raise ValueError(KEY)
    return {"score": 1, KEY: 2, "before " + KEY: 3}
mark.times = 0
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    watch()


def everything_under(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".py")


@pytest.mark.parametrize(
    "way", [storable, plain, one_line, shortened, in_document, lambda text: json_text({text: text})]
)
def test_every_way_into_the_file_and_out_of_it_masks_a_key_and_its_cut_beginning(way: object) -> None:
    for said in (KEY, KEY[:40], f"x{KEY}y{KEY}", f"é\x00{KEY}"):
        assert KEY[:16] not in way(said)  # type: ignore[operator]
    assert mask(f"<{KEY}> <{KEY[:20]}>") == "<[key]> <[key]>"


def test_a_key_is_masked_in_json_and_where_invisible_characters_split_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", 'a "quoted" \\ key')
    watch()
    assert "quoted" not in json_text({"error": 'a "quoted" \\ key'})
    assert variables_in(json.dumps({"x": 'a "quoted" \\ key'})) == ["LAB_KEY"]
    split = f"{KEY[:9]}\u200b{KEY[9:]}"
    assert KEY[:20] not in plain(split) and KEY[:20] not in in_document(split)


@pytest.mark.parametrize(("variable", "value", "hidden"), [
    ("LAB_API_KEY", "a plain but long token", True),
    ("HF_TOKEN", "hf_abcdefghijkl", True),
    ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI/K7MDENG", True),
    ("OPENAI_API_KEY", "ollama", False),
    ("LAB_API_KEY", "not-needed", False),
    ("MONKEY", "a tail that hangs", False),
])  # fmt: skip
def test_which_variables_hold_keys(variable: str, value: str, hidden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    watch()
    assert mask(f"say {value}.") == ("say [key]." if hidden else f"say {value}.")


def test_a_scorer_that_says_a_key_has_it_masked_on_screen_in_log_and_file(tidepool: Tidepool, tmp_path: Path) -> None:
    (tmp_path / "marks.py").write_text(SCORER)
    (tmp_path / "study.toml").write_text(EVOLUTION + 'scorer = "marks.py:mark"\n')
    ran = tidepool("--run", "study.toml", OPENAI_API_KEY=KEY)
    assert ran.returncode == 0, ran.stderr
    assert "could not score a reply" in ran.stderr
    shown = [tidepool(*words.split(), OPENAI_API_KEY=KEY) for words in ("show last", "log last", "stats last --json")]
    assert tidepool("export", "last", "--format", "json", "-o", str(tmp_path / "out")).returncode == 0
    written = everything_under(tmp_path) + "".join(one.stdout + one.stderr for one in (ran, *shown)).encode()
    assert b"[key]" in written and KEY[:16].encode() not in written


def test_a_scorer_that_dies_of_a_key_while_it_is_loaded_does_not_show_it(tidepool: Tidepool, tmp_path: Path) -> None:
    (tmp_path / "marks.py").write_text(
        "import os\nraise ValueError(os.environ['OPENAI_API_KEY'])\ndef mark(a, b): ...\n"
    )
    (tmp_path / "study.toml").write_text(EVOLUTION + 'scorer = "marks.py:mark"\n')
    ran = tidepool("--run", "study.toml", OPENAI_API_KEY=KEY)
    assert ran.returncode == 2 and "ValueError: [key]" in ran.stderr and KEY[:16] not in ran.stderr


def test_a_config_that_contains_a_key_is_refused_before_it_is_stored(tidepool: Tidepool, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(EVOLUTION.replace("[evolution]", f'description = "{KEY}"\n[evolution]'))
    ran = tidepool("--run", "study.toml", OPENAI_API_KEY=KEY)
    assert ran.returncode == 2 and "contains the value of your environment variable OPENAI_API_KEY" in ran.stderr
    assert KEY[:16] not in ran.stderr and not tidepool.database.exists()
