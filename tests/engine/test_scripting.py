"""Scripts and notebooks: the functions of the package, what a notebook shows, and the types that a checker sees."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.command import ROOT
from tests.test_documentation import contents

CELLS = (
    f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r})\nimport tidepool as tp\nfrom debate import Debate",
    "await tp.run(Debate(motion='Tea', rounds=1), 'study.db')",
    "tp.read_summary('last', 'study.db').messages()",
    "design = tp.Design(replicates=2, factors={'debate.rounds': [1, 2]})\n"
    "await tp.run(Debate(motion='Tea', design=design), 'study.db')",
)


@pytest.mark.slow
def test_a_notebook_shows_progress_reports_and_rows(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    _, ran, rows, design = ([output for output in cell.outputs if "data" in output] for cell in book.cells)
    assert "20 of 20 units · 60 replies" in ran[0].data["text/plain"]
    assert "Debates won, Ada" in ran[1].data["text/html"] and 'sandbox=""' in ran[1].data["text/html"]
    assert "<td" in rows[0].data["text/html"] and "speaker" in rows[0].data["text/html"]
    assert "rounds" in design[1].data["text/html"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "checker", [("mypy", "--strict"), ("basedpyright", "--level", "error")], ids=lambda one: one[0]
)
def test_programs_and_examples_have_types(checker: tuple[str, ...], tmp_path: Path) -> None:
    programs = contents(ROOT / "README.md", "python") + contents(ROOT / "docs" / "python.md", "python")
    for number, program in enumerate(programs):
        (tmp_path / f"program_{number}.py").write_text(program, encoding="utf-8")
    places = [
        str(tmp_path),
        str(ROOT / "examples" / "debate.py"),
        str(ROOT / "examples" / "plugin" / "tidepool_whispers"),
    ]
    done = subprocess.run(
        [Path(sys.executable).parent / checker[0], *checker[1:], *places],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import tidepool\n\ntidepool.Agent('Ada', 3)\n", encoding="utf-8")
    assert subprocess.run(
        [Path(sys.executable).parent / checker[0], *checker[1:], wrong], cwd=ROOT, capture_output=True, check=False
    ).returncode
