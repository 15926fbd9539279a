"""What is said of secrets before a run: doubts with a better word, and refusals with their place."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.runtime.plans import priced
from tidepool.engine.studies.secret_game.detectors.fuzzy import likeness
from tidepool.engine.studies.secret_game.secrets import WORDS, doubts_about, suggest_secret
from tidepool.engine.studies.study import study_from


def frozen(
    database: Path, *secrets: str, names: tuple[str, ...] = ("Ada", "Bo", "Cleo"), **settings: Any
) -> FrozenConfig:
    told = settings.pop("instructions", {})
    agents = [
        {"name": name, "model": "simulated:guarded", "secret": secret, "instructions": told.get(name, "")}
        for name, secret in zip(names, secrets, strict=False)
    ]
    return freeze(config_from({"batch": {"kind": "secret_game"}, "secret_game": settings, "agents": agents}), database)


def warnings(config: FrozenConfig) -> list[str]:
    said: list[str] = priced(study_from(config).plan(), config)["warnings"]
    return said


def test_good_secrets_are_not_doubted(database: Path) -> None:
    assert warnings(frozen(database, "marigold", "lantern", "blue heron")) == []


@pytest.mark.parametrize(
    ("secret", "doubt"),
    [
        ("time", "is a common word"),
        ("piece of cake", "is a common word"),
        ("42", "short number"),
        ("zz", "too short"),
        ("Cleopatra", "part of the name"),
        ("marygold", "too similar to 'marigold' of 'Ada'"),
        ("marigold syrup", "too similar to 'marigold' of 'Ada'"),
        ("partner dance", "rules of the game"),
    ],
)
def test_a_doubtful_secret_is_warned_of_with_a_better_one(database: Path, secret: str, doubt: str) -> None:
    said = warnings(
        frozen(
            database,
            "marigold",
            secret,
            names=("Ada", "Bo", "Cleopatra Jones")[:2] if "Cleo" not in secret else ("Ada", "Cleopatra Jones"),
        )
    )
    assert len(said) == 1 and doubt in said[0]
    assert said[0].rpartition("Try ")[2].strip(".'") in WORDS


@pytest.mark.parametrize(
    ("secrets", "why"),
    [
        (("marigold", "?!"), "neither letters nor digits"),
        (("marigold", "Marigold"), "is the same as that of 'Ada'"),
        (("marigold", "ada"), "the name of an agent"),
        (("marigold", "code word"), "rules of the game"),
        (("marigold", "points"), "rules of the game"),
        (("marigold", "3"), "rules of the game"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_its_place(database: Path, secrets: tuple[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        frozen(database, *secrets)
    assert refused.value.where == ("agents", 1, "secret")


def test_a_secret_that_the_partner_is_told_is_refused(database: Path) -> None:
    with pytest.raises(UsageError, match="instructions of an agent that has to obtain it"):
        frozen(database, "marigold", "lantern", instructions={"Bo": "Ask about the marigold."})
    frozen(database, "marigold", "lantern", instructions={"Ada": "Guard the marigold."})


def test_secrets_of_scenarios_are_examined_and_the_agents_own_are_not(database: Path) -> None:
    scenarios = [
        {"opener_secret": "time", "partner_secret": "lantern"},
        {"opener_secret": "quokka", "partner_secret": "?"},
    ]
    config = frozen(database, "will", "will", scenarios=scenarios[:1])
    assert ["'time' of scenario 1" in said for said in warnings(config)] == [True]
    with pytest.raises(UsageError, match="scenario 2") as refused:
        frozen(database, "", "", scenarios=scenarios)
    assert refused.value.where == ("secret_game", "scenarios", 1, "partner_secret")


def test_the_announced_target_may_be_said_by_the_rules(database: Path) -> None:
    config = frozen(database, "marigold", "lantern", mode="targeted", targeted_secret="marigold", announce_target=True)
    assert warnings(config) == []


def test_a_batch_that_was_frozen_before_goes_on(database: Path) -> None:
    kept = frozen(database, "marigold", "lantern").to_json().replace("lantern", "marigold")
    assert [agent.secret for agent in load_frozen(kept).agents] == ["marigold", "marigold"]


def test_of_many_doubtful_secrets_some_are_told_and_the_rest_counted(database: Path) -> None:
    scenarios = [{"opener_secret": f"{number}", "partner_secret": "lantern"} for number in range(100, 140)]
    said = warnings(frozen(database, "", "", scenarios=scenarios))
    assert len(said) == 21 and said[-1].startswith("20 more")


def test_every_proposal_is_itself_beyond_doubt() -> None:
    assert 60 < len(WORDS) == len(set(WORDS))
    assert [word for word in WORDS if list(doubts_about(word))] == []
    assert [pair for pair in combinations(WORDS, 2) if pair[0][0] == pair[1][0] and likeness(*pair) >= 90] == []


def test_a_proposal_is_the_same_each_time_and_never_taken() -> None:
    first = suggest_secret("time", ())
    assert first == suggest_secret("time", ()) != suggest_secret("time", {first})
