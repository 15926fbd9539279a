"""The scoring tables of the four modes, and what must hold of any game."""

from collections import Counter
from typing import get_args

import pytest
from hypothesis import strategies as st

from tidepool.engine.studies.secret_game.config import Mode
from tidepool.engine.studies.secret_game.methods import _points
from tidepool.engine.studies.secret_game.prompts import rules_text
from tidepool.engine.studies.secret_game.scoring import MODES, SCORING, Side, game_points, points_between, sides
from tidepool.tui.app.kind_screens import screens_of

SECRETS = {"Ada": "marigold", "Bo": "lantern", "Cy": "granite", "Di": "harbour"}
Talk = tuple[str, str, bool, bool]


def played(*talks: Talk) -> list[Side]:
    return [side for talk in talks for side in sides(*talk)]


def totals(game: list[Side], scores: list[float]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for side, score in zip(game, scores, strict=True):
        sums[side.agent] += score
    return dict(sums)


def points(mode: str, *talks: Talk, **settings) -> dict[str, float]:
    game = played(*talks)
    return totals(game, game_points(mode, game, SECRETS, **settings))


TABLE = [
    ("standard", [("Ada", "Bo", False, False)], {"Ada": 0, "Bo": 0}),
    ("standard", [("Ada", "Bo", True, True)], {"Ada": 1, "Bo": 1}),
    ("standard", [("Ada", "Bo", True, False)], {"Ada": 0, "Bo": 3}),
    ("standard", [("Ada", "Bo", True, False), ("Bo", "Ada", False, True)], {"Ada": 0, "Bo": 6}),
    # one of four agents holds marigold: 4 ÷ 1
    ("retained", [("Ada", "Bo", True, False)], {"Ada": 0, "Bo": 4}),
    # two hold it: 4 ÷ 2 for each
    ("retained", [("Ada", "Bo", True, False), ("Ada", "Cy", True, False)], {"Ada": 0, "Bo": 2, "Cy": 2}),
    # told twice, held once
    ("retained", [("Ada", "Bo", True, False), ("Ada", "Bo", True, False)], {"Ada": 0, "Bo": 4}),
    ("retained", [("Ada", "Bo", True, True)], {"Ada": 4, "Bo": 4}),
    ("diversity", [("Ada", "Bo", True, False)], {"Ada": 0, "Bo": 2}),
    ("diversity", [("Ada", "Bo", True, False), ("Ada", "Bo", True, False)], {"Ada": 0, "Bo": 2}),
    ("diversity", [("Ada", "Bo", True, True), ("Bo", "Cy", False, True)], {"Ada": 2, "Bo": 4, "Cy": 0}),
    ("targeted", [("Ada", "Bo", True, True)], {"Ada": 1, "Bo": 5}),
    ("targeted", [("Ada", "Bo", True, False), ("Cy", "Bo", True, False)], {"Ada": 0, "Bo": 6, "Cy": 0}),
    ("targeted", [("Ada", "Bo", True, False), ("Bo", "Ada", False, True)], {"Ada": 0, "Bo": 5}),
]


@pytest.mark.parametrize(("mode", "talks", "expected"), TABLE)
def test_points_of_a_game(mode: str, talks: list[Talk], expected: dict[str, float]):
    assert points(mode, *talks, targeted_secret="Marigold") == expected


def test_points_of_kept_secrets_are_configurable():
    scoring = {**SCORING, "per_secret": 2, "per_unique": 7, "target": 50}
    talk = ("Ada", "Bo", True, True)
    assert points("retained", talk, scoring=scoring) == {"Ada": 8, "Bo": 8}
    assert points("diversity", talk, scoring=scoring) == {"Ada": 7, "Bo": 7}
    assert points("targeted", talk, scoring=scoring, targeted_secret="marigold") == {"Ada": 2, "Bo": 50}


def test_a_secret_the_agent_owns_itself_is_not_kept():
    game = list(sides("Ada", "Ada", True, True))
    assert game_points("diversity", game, SECRETS) == [0, 0]
    assert game_points("standard", game, SECRETS) == [1, 1]


agents = st.sampled_from(sorted(SECRETS))
talks = st.lists(
    st.tuples(agents, agents, st.booleans(), st.booleans()).filter(lambda talk: talk[0] != talk[1]), max_size=12
)


def test_every_mode_of_the_config_has_its_points_and_its_texts() -> None:
    """What a mode lacks would be a KeyError or a placeholder in a prompt, a report or the app."""
    assert set(get_args(Mode)) == set(MODES) == set(screens_of("secret_game").choices["mode"])
    for mode in MODES:
        prompt = rules_text(mode, SCORING, "lantern")
        methods = " ".join(_points({"mode": mode, "scoring": SCORING}))
        assert "{" not in prompt + methods and "point" in prompt and methods.startswith("A side scored ")
        low, high = points_between(mode, SCORING, 4)
        assert low <= min(points(mode, ("Ada", "Bo", True, True)).values()) <= high
