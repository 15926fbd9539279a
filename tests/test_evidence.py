"""The summary in docs/evidence.md agrees with its pages, and each claim has measurements."""

from pathlib import Path

from benchmarks.prove import DOCS, PAGES, PROOFS, import_page, rows, sections, store, summary

FORMER = """# Evidence

## Power, told before anything is bought

`make prove ONLY=power` · 2026-11-19 · 363 s

| promise | measured | promised | |
| --- | --- | --- | --- |
| half-width of 40 talks (a | b) | 6.155 % | ≤ 10 | ok |
| power of a pilot | 79.5 % | ≥ 80 | **missed** |
"""


def test_the_summary_says_what_the_pages_say() -> None:
    written = (DOCS / "evidence.md").read_text(encoding="utf-8")
    assert [line for line in summary().splitlines() if "|" in line] == [
        line for line in written.splitlines() if "|" in line
    ]
    stored = {
        name for file in PAGES for name in sections((DOCS / "evidence" / f"{file}.md").read_text(encoding="utf-8"))
    }
    assert stored <= set(PROOFS) and len(stored) > 25


def test_a_page_of_the_former_layout_is_imported_with_all_its_figures(tmp_path: Path) -> None:
    source = tmp_path / "former.md"
    source.write_text(FORMER, encoding="utf-8")
    texts = import_page(source)
    assert [row.measured for row in rows(texts["power"])] == ["6.155 %", "79.5 %"]
    assert "half-width of 40 conversations" in texts["power"]
    store(texts, tmp_path)
    page = (tmp_path / "evidence.md").read_text(encoding="utf-8")
    assert "power of a pilot: 79.5 % | ≥ 80 | **1 of 2 missed** | 2026-11-19 |" in page
