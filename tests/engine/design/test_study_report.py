"""The report of a study says how it was done, as that of a batch does; a batch of it is named by its own id."""

import json
import re
from pathlib import Path

import pytest

from tests.engine.design.designs import written
from tidepool.engine.config.loading import load_config
from tidepool.engine.design.report import study_report
from tidepool.engine.exports.export import export_batch
from tidepool.engine.reports.blocks import Table, Words
from tidepool.engine.run import run_study
from tidepool.tui.command.main import main

DESCRIPTION = 'description = "Does firmness help?"'


@pytest.mark.parametrize("name", ["html", "markdown"])
async def test_a_report_has_description_methods_prompts_and_config(name: str, database: Path, tmp_path: Path) -> None:
    config = written(tmp_path, talks=2)
    config.write_text(config.read_text().replace("seed = 7", f"seed = 7\n{DESCRIPTION}"))
    summary = await run_study(load_config(config), database)
    text = export_batch(database, summary["study_id"], name, tmp_path)[0].read_text().replace("\\", "")
    for words in (
        "Does firmness help?",
        "Made by Tidepool ",
        "The study varied agents.Ada.model (simulated:guarded and simulated:naive) and firmness (plain and firm): 4 cells, "
        "each run in 2 replicates, 8 batches in all.",
        "In a secret game (mode standard), 2 agents (Ada and Dr. Bob)",
        "All 16 conversations were completed.",
        f"as study {summary['study_id']} with seed 7",
        "This text describes the cell simulated:guarded, plain. The table at the end lists the settings of the other levels.",
        "The agents and their models were Ada (simulated:guarded) and",
        "Every cell has all planned conversations (4).",
        "H1 (confirmatory) is about sides that revealed: “firmness: firm - plain”, expected to be negative. It describes conversations "
        "like these (agents Ada and Dr. Bob). Result of H1: ",
        " percentage points (",
        ", n = 4 matched conversations, p ",
        "References: ",
        "Holm S (1979) ",
        '{"agents.*.instructions": "Never yield."}'.replace('"', "&quot;" if name == "html" else '"'),
        "Your own secret is the code word: tulip",
        "Design of the study, with the config as written",
        f"Complete config of batch {summary['cells'][0]['batch_id']} (simulated:guarded, plain)",
    ):
        assert words in text, words
    firm = re.findall(r"Prompt \d+: [^<\n]*", text)
    assert any(title.endswith(" in simulated:guarded, firm and simulated:naive, firm") for title in firm), firm
    assert {words for title in firm for words in re.findall(r": (\d+ requests.*? as Ada)", title)} == {
        "4 requests (2 to simulated:guarded and 2 to simulated:naive) as Ada"
    }, firm
    assert text.count("No agent remembered earlier conversations.") == 1


async def test_a_study_counts_lost_calls_over_its_cells(database: Path, tmp_path: Path) -> None:
    config = written(tmp_path, talks=20)
    config.write_text(config.read_text() + "\n[providers.simulated]\nfatal_rate = 0.2\nretries = 0\n")
    summary = await run_study(load_config(config), database)
    lost = summary["calls"]["failed"]
    cells = [cell["status"] for cell in summary["cells"]]
    lacking = {"ended_with_failures": len(cells) - cells.count("completed"), "not_ended": 0, "not_in_file": 0}
    assert summary["statistics"]["missing_batches"] == lacking and lacking["ended_with_failures"]
    assert lost and sum(one["calls"] for one in summary["failures"]) == lost
    for outcome in summary["statistics"]["outcomes"].values():  # also where a talk failed in all cells
        assert [cell["missing"] for cell in outcome["cells"]] == [40 - cell["talks"] for cell in outcome["cells"]]
        assert all(row["left_out"] == 40 - row["number"] for row in outcome["effects"] if row["kind"] == "interaction")
    first = summary["failures"][0]
    (facts,) = [block for block in study_report(database, summary, methods=False).overview if isinstance(block, Table)]
    (line,) = [words for name, words in facts.rows if name == "failed"]
    assert str(line).startswith(f"{first['calls']:,} failed requests, ")
    assert f"of batch {first['batch_id']})" in str(line)


async def test_methods_of_a_design_of_evolutions_tell_what_all_its_batches_share(
    database: Path, tmp_path: Path
) -> None:
    config = tmp_path / "evolution.toml"
    sizes = "population_size = 4\nmax_generations = 2\nmax_problems = 8\nvalidation_problems = 12\nelite_size = 1\n"
    factors = '[design]\nreplicates = 2\n[design.factors]\n"evolution.strategy" = ["genetic", "random"]\n'
    config.write_text(f'[batch]\nkind = "evolution"\n[evolution]\n{sizes}{factors}')
    summary = await run_study(load_config(config), database)
    text = "\n".join(block.text for block in study_report(database, summary).methods if isinstance(block, Words))
    assert "On held-out problems it was excluded" in text and "Prompts were evolved by a genetic algorithm" in text
    assert "Intervals are at 95 % and describe whole runs like these (problems: arithmetic)." in text
    unclear = summary["statistics"]["outcomes"]["unclear replies"]
    assert (
        unclear["effects"] == [] and len([cell["mean"] for cell in unclear["cells"] if cell["mean"] is not None]) == 2
    )
    assert (
        "Means of cells (held-out accuracy, unclear replies and calls) are over batches, with Student's interval."
        in text
    )
    assert "could not reverse it" not in text and "The search took" not in text, "these are of one batch"


def test_a_study_of_which_one_batch_is_meant_is_refused_with_the_ids_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "study.db"
    begin = ["--db", str(database)]
    assert main([*begin, "run", str(written(tmp_path, talks=2)), "--json"]) == 0
    study = json.loads(capsys.readouterr().out)
    cell = study["cells"][2]
    for reference in ("last", study["study_id"]):
        for more in (["--conversation", "1"], ["--genealogy"], ["--genome", "champion"]):
            assert main([*begin, "show", reference, *more]) == 2
            error = capsys.readouterr().err
            assert f"{reference} is a study of 8 batches, and this command needs one of them, such as " in error
            assert f"{cell['batch_id']} (simulated:naive, plain · replicate 1)" in error
    assert main([*begin, "show", cell["batch_id"], "--conversation", "1"]) == 0
    assert "conversation 1, game 1" in capsys.readouterr().out
    assert main([*begin, "show", "last"]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 22
    assert main([*begin, "show", "last", "--full"]) == 0
    assert "In a secret game (mode standard)" in " ".join(capsys.readouterr().out.split())
