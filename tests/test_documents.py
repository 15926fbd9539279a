"""The documents hold together: every page that is cited is there, every rule is written down, and the contract is kept."""

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.pictures import page
from tests.support.house_map import with_map
from tests.tui.studies import game, played_now
from tidepool.engine.results.summary import summarise
from tidepool.storage.states import BatchStatus
from tidepool.tui.command.main import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
CODE = [path for room in ("engine", "storage", "tui", "tests", "benchmarks") for path in (ROOT / room).rglob("*.py")]
PROGRAM = [path for path in CODE if path.relative_to(ROOT).parts[0] in ("engine", "storage", "tui")]
CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_site_has_every_page_in_its_navigation_and_no_page_leads_out_of_it() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    named = [name for part in site["nav"] for pages in part.values() for page in pages for name in page.values()]
    pages = sorted((ROOT / "docs").glob("*.md"))
    assert sorted(named) == [page.name for page in pages]
    assert [page.name for page in pages if re.search(r"\]\(\.\./", page.read_text(encoding="utf-8"))] == []


def test_how_to_cite_it_names_the_version_that_it_is() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"{{{version}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")


def test_every_sentence_that_troubleshooting_quotes_is_one_of_the_code() -> None:
    program = "\n".join(path.read_text(encoding="utf-8") for path in PROGRAM)
    said = re.sub(r"\"\s*\n\s*f?\"", "", program).replace('\\"', '"')
    quoted = re.findall(r"^> (.*)$", (ROOT / "docs" / "troubleshooting.md").read_text("utf-8"), flags=re.M)
    pieces = {(line, piece.strip(" .:")) for line in quoted for piece in line.split("…") if len(piece.strip(" .:")) > 3}
    assert len(quoted) > 15 and [line for line, piece in pieces if piece not in said] == []


def test_no_code_cites_a_page_that_is_not_there() -> None:
    cited = {
        (path, name) for path in CODE for name in re.findall(r"\b(docs/\w+\.md)\b", path.read_text(encoding="utf-8"))
    }
    assert cited and [(str(path), name) for path, name in cited if not (ROOT / name).exists()] == []


def test_every_rule_that_a_test_names_stands_in_the_design() -> None:
    named = {int(number) for path in CODE for number in re.findall(r"\bRule (\d+)\b", path.read_text(encoding="utf-8"))}
    written = {int(number) for number in re.findall(r"^(\d+)\. ", DESIGN, flags=re.MULTILINE)}
    assert len(named) > 5 and named <= written


def test_the_map_of_the_design_is_that_of_the_code() -> None:
    assert with_map(DESIGN) == DESIGN, "make it anew: python -m tests.support.house_map"
    assert "|  |" not in DESIGN, "a package without a sentence"


def test_the_contract_names_every_command_and_no_other() -> None:
    named = set(re.findall(r"`(?:tidepool )?([a-z]+)[^`]*`", CONTRACT.split("## The command")[1].split("BATCH is")[0]))
    assert set(COMMANDS) <= named


def test_the_contract_names_every_state_and_every_key_of_the_summary(tmp_path: Path) -> None:
    assert [state for state in BatchStatus if f"`{state}`" not in CONTRACT] == []
    path = tmp_path / "study.db"
    played_now(path, game(talks=2))
    summary = summarise(path, "last")
    keys = {*summary, *summary["units"], *summary["calls"], *summary["waves"][0], *summary["performance"]}
    assert [key for key in sorted(keys - {"paused"}) if f"`{key}`" not in CONTRACT] == []


def test_the_gallery_shows_every_example_and_no_other() -> None:
    assert (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8") == page(), "make it anew: make screenshots"
    pictures = {path.stem for path in (ROOT / "docs" / "pictures" / "gallery").glob("*.svg")}
    assert pictures == {path.stem for path in (ROOT / "examples").glob("*.toml")}
