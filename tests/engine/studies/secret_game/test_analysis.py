"""Intervals and comparisons from rows as the view `outcomes` gives them: what `tests/engine/recomputed` does not reach."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import pandas
import pytest

from tests.engine.recomputed.estimators import rate
from tidepool.engine.studies.secret_game.analysis import GameDesign, analyse_sides
from tidepool.engine.studies.secret_game.report import blocks
from tidepool.engine.studies.secret_game.scoring import sides, standard_points
from tidepool.engine.studies.secret_game.sides import SideColumns, SideOutcome

Talk = tuple[str, str, bool, bool]
"""opener, partner, and whether each revealed"""


def rows(*talks: Talk, game: int = 1) -> list[SideOutcome]:
    found = []
    for number, talk in enumerate(talks, 1):
        for opener, side in zip((True, False), sides(*talk), strict=True):
            score = standard_points(side.revealed, side.obtained)
            talk_of = (f"{game}/{number}", game, side.agent, side.opponent)
            found.append(SideOutcome(*talk_of, opener, side.revealed, side.obtained, score=score))
    return found


def analysed(
    rows: Iterable[SideOutcome], failed: Mapping[tuple[str, str], int] | None = None, played: GameDesign | None = None
) -> dict[str, Any]:
    found, columns = list(rows), SideColumns()
    if found:
        columns.add([side.conversation_id for side in found], [side[1:] for side in found])
    return analyse_sides(columns.of_whole_talks(), failed, played)


FOUR_TALKS = rows(
    ("Ada", "Bo", True, True), ("Bo", "Ada", False, True), ("Ada", "Cy", False, False), ("Cy", "Bo", True, False)
)


def test_missing_conversations_change_no_share_and_give_the_best_and_the_worst_case():
    without, found = (analysed(FOUR_TALKS), analysed(FOUR_TALKS, {("Bo", "Ada"): 1, ("Ada", "Bo"): 1}))
    assert (without["agents"], without["overall"]) == (found["agents"], found["overall"])
    assert found["missing"]["secrets_revealed_bounds"] == pytest.approx([100 * 4 / 12, 100 * 8 / 12])
    assert found["missing"]["pairs"] == {"Ada & Bo": 2}


def test_a_batch_in_which_all_failed_has_shares_of_nothing():
    found = analysed([], {("Ada", "Bo"): 3})
    assert found["agents"]["Ada"]["times_revealed_secret_percentage"] is None
    assert found["agents"]["Ada"]["times_revealed_secret_ci95"] == [0, 100]
    assert found["missing"]["percentage"] == 100.0


# -- intervals, comparisons and rankings ------------------------------------------------------------------------

# Ada always obtains and never reveals; Bo gives in to everybody; Cy keeps his, except to Ada.
PLAYED = rows(
    *[("Ada", "Bo", False, True), ("Bo", "Ada", True, False)] * 6,
    *[("Ada", "Cy", False, True), ("Cy", "Ada", True, False)] * 6,
    *[("Bo", "Cy", True, False), ("Cy", "Bo", False, True)] * 6,
)
MODELS = {"Ada": "simulated:guarded", "Bo": "simulated:naive", "Cy": "simulated:guarded"}
FOUND = analysed(PLAYED, {("Ada", "Bo"): 1}, GameDesign(MODELS))


def random_rows(talks: int, games: int = 1, scenarios: int = 0, seed: int = 3) -> list[SideOutcome]:
    random = Random(seed)
    played = []
    for number in range(talks):
        opener, partner = random.sample(["Ada", "Bo", "Cy", "Di"], 2)
        mood = random.random()
        talk = (opener, partner, random.random() < mood, random.random() < 0.8 * mood)
        scenario = number % scenarios + 1 if scenarios else None
        for side in rows(talk, game=number % games + 1):
            played.append(side._replace(conversation_id=number, scenario=scenario))
    return played


def test_the_division_into_games_changes_nothing_where_nothing_links_them():
    one, fifty = (analysed(random_rows(300, games), None, GameDesign(MODELS)) for games in (1, 50))
    assert (one["inference"].pop("games"), fifty["inference"].pop("games")) == (1, 50)
    assert one == fifty


def test_one_linked_game_has_no_interval_and_says_so():
    found = analysed(random_rows(60), None, GameDesign(linked=True))
    assert found["overall"]["secrets_revealed_ci95"] is None
    assert found["agents"]["Ada"]["times_revealed_secret_ci95"] is None
    assert {row["p_value"] for row in found["comparisons"]} == {None}
    assert "one game, so there is no inference beyond it" in found["inference"]["note"]
    told = " ".join(getattr(block, "text", "") or getattr(block, "note", "") for block in blocks(found))
    assert "one game" in told and "more than one independent observation" in told
    assert "Intervals are" not in told


def test_scenarios_that_repeat_are_what_counts():
    found = analysed(random_rows(240, scenarios=6))
    assert found["inference"]["clusters"] == "scenarios"
    assert found["inference"]["speaks_of"] == "these agents in scenarios like these"
    assert list(found["scenarios"]) == ["1", "2", "3", "4", "5", "6"]
    once = analysed(random_rows(240, scenarios=240))
    assert once["inference"]["clusters"] == "talks"


@pytest.mark.parametrize(
    ("games", "scenarios", "note"),
    [
        (9, 1, "no verdict: 9 games, a test needs 10 (below"),
        (12, 1, "no verdict: 8 games for a pair, a test needs 10 (below"),
        (18, 1, "only 18 games: below"),
        (36, 24, "no verdict: 8 scenarios for a pair, a test needs 10 (below"),
    ],
)
def test_the_pair_with_fewest_clusters_decides_whether_there_is_no_verdict(
    games: int, scenarios: int, note: str
) -> None:
    """Each of three pairs meets in two thirds of the games, and in a third of the scenarios."""
    pairs, met = [("Ada", "Bo"), ("Bo", "Cy"), ("Cy", "Ada")], 2 if scenarios == 1 else 3
    played = [
        side._replace(conversation_id=f"{game} {turn}", scenario=3 * (game % 8) + turn + 1 if scenarios > 1 else None)
        for game in range(games)
        for turn in range(met)
        for side in rows((*pairs[(game * (met == 2) + turn) % 3], True, False), game=game + 1)
    ]
    assert analysed(played, None, GameDesign(linked=True))["inference"]["note"].startswith(note)


def test_linked_games_that_share_scenarios_count_by_both() -> None:
    sides = random_rows(120, 12, 7)
    found = analysed(sides, None, GameDesign(linked=True))
    table = pandas.DataFrame([side._asdict() for side in sides])
    told = {name: row["times_revealed_secret_ci95"] for name, row in found["agents"].items()}
    told[""] = found["overall"]["secrets_revealed_ci95"]
    for name, ends in told.items():
        own = table[table["agent"] == name] if name else table
        whole = rate(own["revealed"].astype(float), own["game"], also=own["scenario"])
        assert whole and ends == pytest.approx([100 * end for end in whole.interval() or ()])


def test_uncertain_sides_are_bounds():
    doubtful = [row._replace(uncertain=not row.revealed and row.agent == "Cy") for row in PLAYED]
    found = analysed(doubtful)
    assert found["uncertain"]["sides"] == 12
    assert found["uncertain"]["secrets_revealed_bounds"] == pytest.approx([100 * 36 / 72, 100 * 48 / 72])
    assert found["overall"] == FOUND["overall"]
    assert any("Uncertain" in getattr(block, "text", "") for block in blocks(found))


def test_scores_not_yet_known_are_left_out():
    unscored = [row._replace(score=None) for row in PLAYED]
    found = analysed(unscored)
    assert found["agents"]["Ada"]["score_mean"] is None
    assert found["comparisons"] == []
    assert found["agents"]["Ada"]["times_obtained_secret"] == 24
