"""Simulations run end to end on the simulated provider, in a real file."""

import json
from itertools import cycle
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import PEOPLE, panel, rows
from tidepool import load_config, resume_batch, run_batch
from tidepool.engine.call import Call
from tidepool.engine.config.freezing import freeze
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.reports.blocks import Estimate, Figure, Headline, Table, Words
from tidepool.engine.runtime.plans import priced
from tidepool.engine.simulated.provider import SimulatedProvider
from tidepool.engine.studies.simulation.report import blocks
from tidepool.engine.studies.study import study_from

MESSAGES = "SELECT * FROM messages ORDER BY conversation_id, wave, turn"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call the simulated provider answers."""
    seen: list[Call] = []
    answer = SimulatedProvider.answer

    def spy(self: SimulatedProvider, call: Call, seed: int, *, batch: bool = False) -> Answer:
        seen.append(call)
        return answer(self, call, seed, batch=batch)

    monkeypatch.setattr(SimulatedProvider, "answer", spy)
    return seen


def says(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(SimulatedProvider, "answer", lambda self, call, seed, batch=False: Answer(text, 1, 1, 0.0))


async def test_each_entity_speaks_in_each_turn_and_the_next_round_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    summary = await run_batch(panel(interaction_size=3, num_simulations=4, n_turns=2, simulation_rounds=2), file)
    assert summary["status"] == "completed"
    assert summary["calls"]["total"] == 4 * 3 * 2 * 2
    for unit in rows(file, "SELECT * FROM conversations"):
        spoken = rows(file, "SELECT * FROM messages WHERE conversation_id = ? ORDER BY wave", unit["id"])
        names = json.loads(unit["participants"])
        assert unit["interaction_type"] == "group"
        assert [message["speaker"] for message in spoken] == names * 4
        assert [message["turn"] for message in spoken] == [turn for turn in (1, 2, 3, 4) for _ in names]
        assert [message["wave"] for message in spoken] == list(range(1, 13))


async def test_thoughts_are_stored_apart_and_never_reach_the_others(tmp_path: Path, calls: list[Call]) -> None:
    file = tmp_path / "s.db"
    await run_batch(panel(num_simulations=6, n_turns=2, thoughts=True), file)
    messages = rows(file, MESSAGES)
    assert len(messages) == 24
    for message in messages:
        assert message["thought"] and "*" not in message["thought"] + message["content"]
    parts = [part for call in calls for part in call.messages]
    thoughts = {message["thought"] for message in messages}
    assert not [part for part in parts if part.role == "user" and any(thought in part.text for thought in thoughts)]
    assert [part for part in parts if part.role == "assistant" and any(thought in part.text for thought in thoughts)]


async def test_a_scene_without_names_is_kept_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, "They quarrelled for an hour, and nobody wrote down who said what.")
    file = tmp_path / "s.db"
    summary = await run_batch(panel(style="narrated", num_simulations=1), file)
    assert [m["speaker"] for m in rows(file, MESSAGES)] == ["(scene)"]
    assert rows(file, MESSAGES)[0]["content"].startswith("They quarrelled")
    assert summary["statistics"]["unsplit_scenes"] == 1
    assert summary["statistics"]["messages"] == 0


async def test_more_narrated_messages_than_asked_for_stay_in_their_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, "Ada: one\n\nAda: two\n\nBob: three")
    file = tmp_path / "s.db"
    await run_batch(panel(PEOPLE[:2], style="narrated", num_simulations=1, simulation_rounds=2), file)
    assert [(m["turn"], m["content"]) for m in rows(file, MESSAGES)] == [
        (1, "one"), (1, "two"), (1, "three"), (2, "one"), (2, "two"), (2, "three"),
    ]  # fmt: skip


async def test_the_speaking_order_can_be_shuffled_by_the_seed(tmp_path: Path) -> None:
    openers = []
    for name in ("first", "second"):
        file = tmp_path / f"{name}.db"
        await run_batch(panel(PEOPLE[:2], num_simulations=20, speaking_order="shuffled"), file)
        openers.append([m["speaker"] for m in rows(file, MESSAGES) if m["wave"] == 1])
    assert openers[0] == openers[1]
    assert set(openers[0]) == {"Ada", "Bob"}


async def test_entities_without_a_completed_simulation_are_listed_with_their_failures(tmp_path: Path) -> None:
    summary = await run_batch(panel(num_simulations=6, simulated={"fatal_rate": 1.0}), tmp_path / "s.db")
    entities = summary["statistics"]["entities"]
    failed = {name: (row["simulations"], row["failed"], row["words"]) for name, row in entities.items()}
    assert failed == {entity.name: (0, 3, None) for entity in PEOPLE}
    (listed,) = [one for one in blocks(summary["statistics"]) if isinstance(one, Table)]
    assert [row[1:3] for row in listed.rows] == [(0, 3)] * 4


JUDGE = {"question": "Does the speaker agree with the plan, 1 to 5?", "scale": [1, 5]}


async def test_a_judge_rates_every_speaker_and_ratings_follow_the_planted_attribute(tmp_path: Path) -> None:
    people = [
        type(PEOPLE[0])(f"P{i}", f"Person {i}", {"agreeableness": i, "shoe": 36 + i * 7 % 9}) for i in range(1, 11)
    ]
    file = tmp_path / "s.db"
    summary = await run_batch(panel(people, num_simulations=45, n_turns=2, judge=JUDGE), file)
    statistics = summary["statistics"]
    assert statistics["judgements"]["given"] == 90
    assert sum(statistics["judgements"]["distribution"].values()) == 90
    agreeable = statistics["by_attribute"]["agreeableness"]
    ratings = [group["rating"]["mean"] for group in agreeable["groups"]]
    assert ratings == sorted(ratings) and ratings[-1] - ratings[0] > 1
    assert agreeable["tests"]["rating"]["correlation"] > 0.8
    assert agreeable["tests"]["rating"]["p_holm"] < 0.01
    assert statistics["by_attribute"]["shoe"]["tests"]["rating"]["p_holm"] > 0.05
    assert len(rows(file, "SELECT * FROM judgements WHERE rating BETWEEN 1 AND 5")) == 90


async def test_a_rating_that_is_no_level_of_the_scale_is_missing_and_every_level_has_its_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, said = SimulatedProvider.answer, cycle(["1.5", "-1", "6", "2", "4"])

    def stray(self: SimulatedProvider, call: Call, seed: int, *, batch: bool = False) -> Answer:
        whole = answer(self, call, seed, batch=batch)
        if call.form != "rating":
            return whole
        assert call.scale == (1, 5)
        return whole._replace(text=f'{{"reason": "It is so.", "rating": {next(said)}}}')

    monkeypatch.setattr(SimulatedProvider, "answer", stray)
    summary = await run_batch(panel(num_simulations=5, judge=JUDGE), tmp_path / "s.db")
    judged = summary["statistics"]["judgements"]
    assert (judged["given"], judged["missing"], judged["distribution"]) == (4, 6, {"2": 2, "4": 2})
    (bars,) = [one for one in blocks(summary["statistics"]) if isinstance(one, Figure) and one.form == "bars"]
    assert bars.labels == ("1", "2", "3", "4", "5") and bars.series[0].ys == (0, 2, 0, 2, 0)


async def test_a_mean_over_two_entities_has_no_interval_in_the_report(tmp_path: Path) -> None:
    for people in (PEOPLE[:2], PEOPLE):
        summary = await run_batch(panel(people, num_simulations=6, judge=JUDGE), tmp_path / "s.db")
        judged, shown = summary["statistics"]["judgements"], blocks(summary["statistics"])
        (mean,) = [one.figure for one in shown if isinstance(one, Headline)]
        assert isinstance(mean, Estimate) and mean.value == judged["mean"]
        assert mean.interval == (tuple(judged["ci95"]) if len(summary["statistics"]["entities"]) > 2 else None)
        assert Words(judged["note"], "warning") in shown and "no verdict" in judged["note"]


async def test_a_judge_hears_neither_thoughts_nor_attributes(tmp_path: Path, calls: list[Call]) -> None:
    file = tmp_path / "s.db"
    await run_batch(panel(num_simulations=3, thoughts=True, judge=JUDGE), file)
    asked = [call.messages[0].text for call in calls if call.model == "simulated:judge"]
    thoughts = [message["thought"] for message in rows(file, MESSAGES)]
    assert len(asked) == 6 and all(thoughts)
    assert not [text for text in asked for thought in thoughts if thought in text]
    assert not [text for text in asked for entity in PEOPLE if entity.description in text]


async def test_a_verdict_that_fails_is_missing_and_the_simulation_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidepool.engine.providers.protocol import ErrorClass, ProviderError

    answer = SimulatedProvider.answer

    def refuse(self: SimulatedProvider, call: Call, seed: int, *, batch: bool = False) -> Answer:
        if call.model == "simulated:judge" and call.speaker == "Ada":
            raise ProviderError(ErrorClass.CLIENT, "no comment")
        return answer(self, call, seed, batch=batch)

    monkeypatch.setattr(SimulatedProvider, "answer", refuse)
    summary = await run_batch(panel(num_simulations=6, judge=JUDGE), tmp_path / "s.db")
    assert summary["status"] == "completed"
    assert summary["statistics"]["judgements"]["missing"] == 3
    assert summary["statistics"]["missing"]["judgements"] == 3
    assert summary["statistics"]["entities"]["Ada"]["rating"] is None
    assert summary["calls"]["failed"] == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"n_turns": 2, "simulation_rounds": 2},
        {"style": "narrated", "simulation_rounds": 3, "interaction_size": 3},
        {"judge": JUDGE, "interaction_size": 1},
        {"judge": JUDGE, "style": "narrated", "thoughts": True},
    ],
)
async def test_the_plan_counts_the_calls_of_every_wave(tmp_path: Path, settings: dict[str, object]) -> None:
    written = panel(num_simulations=5, **settings)  # type: ignore[arg-type]
    config = freeze(written, tmp_path / "s.db")
    plan = priced(study_from(config).plan(), config)
    summary = await run_batch(written, tmp_path / "s.db")
    assert [(wave["index"], wave["calls"]) for wave in plan["waves"]] == [
        (wave["index"], wave["calls"]) for wave in summary["waves"]
    ]
    assert plan["units"] == 5


async def test_files_are_taken_in_so_that_resume_needs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("A plan from a file\n")
    (tmp_path / "people.csv").write_text("name,age\nAda,61\nBob,34\n")
    config = tmp_path / "s.toml"
    config.write_text(
        '[batch]\nkind = "simulation"\n[simulation]\ncontext_file = "plan.txt"\nentity_file = "people.csv"\n'
        "num_simulations = 2\n[providers.simulated]\nfatal_rate = 1.0\n[[entities]]\nname = 'Cleo'\n"
    )
    first = await run_batch(load_config(config), tmp_path / "s.db")
    assert first["status"] == "failed"
    for name in ("plan.txt", "people.csv", "s.toml"):
        (tmp_path / name).unlink()
    second = await resume_batch("last", tmp_path / "s.db", overrides=["providers.simulated.fatal_rate=0"])
    assert second["status"] == "completed"
    assert set(second["statistics"]["entities"]) <= {"Ada", "Bob", "Cleo"}
    frozen = json.loads(rows(tmp_path / "s.db", "SELECT config FROM batches")[0]["config"])
    assert frozen["simulation"]["context"] == "A plan from a file"
    assert [entity["id"] for entity in frozen["entities"]] == ["Cleo", "Ada", "Bob"]
