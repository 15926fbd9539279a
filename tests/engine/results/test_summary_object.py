"""What `run_batch` returns: figures, rows of the file, data frames; and still the JSON object."""

import json
import sys
from pathlib import Path

import pytest

from tests.engine.studies.evolution.running import study as evolution
from tests.engine.studies.mutation.studies import mutation
from tests.engine.studies.simulation.panels import panel
from tests.support.state import query
from tests.support.studies import game
from tidepool import BatchStatus, Study, Summary, UsageError, read_summary, run_batch
from tidepool.storage.views import VIEWS

ROWS = ("conversations", "messages", "outcomes", "judgements", "genomes", "answers", "training", "log")
PYTHON_TYPES = {"text": str, "moment": str, "integer": int, "real": float, "boolean": bool, "JSON": list}
JUDGE = {"model": "simulated:judge", "question": "Does the speaker agree?", "scale": [1, 5]}
STUDIES: dict[str, Study] = {
    "secret_game": game(6, 3),
    "simulation": panel(num_simulations=3, judge=JUDGE),
    "evolution": evolution(max_generations=2, racing=False),
    "mutation": mutation(),
}


@pytest.fixture
async def summary(database: Path) -> Summary:
    return await run_batch(game(12, 3, simulated={"fatal_rate": 0.1}), database)


def test_figures_are_attributes_that_say_what_the_json_says(summary: Summary) -> None:
    assert (summary.units.total, summary.units.completed) == (12, summary["units"]["completed"])
    assert [wave.calls for wave in summary.waves] == [wave["calls"] for wave in summary["waves"]]
    assert summary.status == BatchStatus.PARTIAL and summary.failures[0].error
    assert set(Summary.__annotations__) <= set(summary)
    with pytest.raises(AttributeError, match="Unknown attribute height"):
        _ = summary.height


def test_the_summary_is_still_the_json_object_and_is_read_again_by_its_id_or_as_the_last(
    summary: Summary, database: Path
) -> None:
    plain = summary.to_dict()
    assert type(plain) is dict and plain == summary == json.loads(json.dumps(summary))
    again = read_summary(summary.batch_id, database)
    assert again == read_summary(database=database) == summary
    assert list(again.messages()) == list(summary.messages())


# -- rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STUDIES)
async def test_rows_of_every_kind_hold_what_their_types_say(kind: str, database: Path) -> None:
    summary = await run_batch(STUDIES[kind], database)
    for view in ROWS:
        table, columns = getattr(summary, view)(), VIEWS[view].columns
        assert table.columns == tuple(column.name for column in columns)
        read = list(table)
        assert len(read) == query(database, f"SELECT count(*) FROM {view}")[0][0]
        for row in read:
            wrong = [
                (column.name, value)
                for column in columns
                if (value := getattr(row, column.name)) is not None and not isinstance(value, PYTHON_TYPES[column.type])
            ]
            assert wrong == [], view


def test_rows_are_what_was_said_and_become_data_frames_with_their_types(summary: Summary) -> None:
    whole = next(row for row in summary.conversations() if row.status == "completed")
    said = [row for row in summary.messages() if row.conversation_id == whole.id]
    assert [row.turn for row in said] == [1, 2, 3] and len({row.speaker for row in said}) == 2
    assert next(iter(summary.log())).message == "Started." and list(summary.genomes()) == []
    pytest.importorskip("pandas")
    frame = summary.outcomes().to_pandas()
    assert tuple(frame.columns) == summary.outcomes().columns
    assert frame["revealed"].dtype == bool and frame["score"].dtype == float
    assert tuple(summary.genomes().to_pandas().columns) == summary.genomes().columns
    polars = pytest.importorskip("polars")
    frame = summary.messages().to_polars()
    assert frame.schema["input_tokens"] == polars.Int64 and frame.schema["thought"] == polars.String
    assert frame["content"].to_list() == [row.content for row in summary.messages()]
    assert summary.genomes().to_polars().is_empty()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_data_frame_without_its_package_names_what_to_install(
    summary: Summary, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=f"needs the package {package}.*pip install {package}"):
        getattr(summary.messages(), f"to_{package}")()


# -- how a batch went ---------------------------------------------------------------------------------


async def test_failures_are_told_by_reason_with_where_to_read_the_first(database: Path) -> None:
    summary = await run_batch(panel(num_simulations=6, simulated={"fatal_rate": 0.3, "retries": 0}), database)
    (failure,) = summary["failures"]
    assert 0 < failure["units"] == summary["units"]["failed"] < 6
    assert 1 <= failure["first"] <= 6 and failure["error"]


async def test_the_latency_is_that_of_live_calls_alone(database: Path) -> None:
    """Some of what a provider batch was to answer expires there and goes live."""
    slow = {"batch_expire_rate": 0.4, "latency": 0.02}
    summary = await run_batch(panel(num_simulations=6, n_turns=2, service="auto", simulated=slow), database)
    assert "batch+live" in {wave["transport"] for wave in summary["waves"]} and not summary["failures"]
    assert 0.02 <= summary["performance"]["mean_latency"] < 0.2
