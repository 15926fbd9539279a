"""A plan's "at most" is one: random studies whose models use all the tokens they may stay below it.

`make prove ONLY=plans` holds two hundred of each kind to it, and to what their plans expect.
"""

from pathlib import Path

import pytest

from benchmarks.plans import trial
from tests.support.random_studies import random_study
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.runtime.plans import EXPECTED, MOST, Plan, PlannedCalls, UsualTokens, priced
from tidepool.engine.studies.study import study_from

SEEDS = {"secret_game": (2, 3, 4, 5), "simulation": range(6), "evolution": (0, 1, 4), "mutation": (0, 4, 5)}


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds])
def test_no_study_takes_more_than_its_plan_says_at_most(kind: str, seed: int, tmp_path: Path) -> None:
    found = trial(kind, seed, endless=True, folder=tmp_path)
    assert found.kept, found
    assert found.expected_calls <= found.most_calls and found.expected_cost <= found.most_cost


@pytest.mark.parametrize("seed", [16, 31, 94])
def test_a_random_search_with_few_sentences_is_expected_to_find_few_prompts(seed: int, tmp_path: Path) -> None:
    found = trial("evolution", seed, endless=False, folder=tmp_path)
    assert found.near, found


@pytest.mark.parametrize("kind", SEEDS)
def test_reasoning_counts_in_the_most_and_half_of_it_in_what_is_expected_of_a_real_model(kind: str) -> None:
    data = random_study(kind, 0)
    reasoned = data["agents"][0] if kind == "secret_game" else data[kind]
    outputs = []
    for room in (0, 200):
        reasoned["max_reasoning_tokens"] = room
        frozen = freeze(config_from(data, source=""), Path("none.db"))
        plan = priced(study_from(frozen).plan(), frozen)
        outputs.append((plan["tokens"]["output"], plan["at_most"]["tokens"]["output"]))
    (expected, most), (expected_reasoning, most_reasoning) = outputs
    assert expected == expected_reasoning and most_reasoning > most  # simulated models do not reason
    assert EXPECTED.reply("openai:x", UsualTokens(60, 1), 300, _Room()) == 160
    assert MOST.reply("openai:x", UsualTokens(60, 1), 300, _Room()) == 500


class _Room:
    reasoning_effort = ""
    max_reasoning_tokens = 200


def test_a_kind_that_does_not_say_has_no_most() -> None:
    frozen = freeze(config_from(random_study("simulation", 0), source=""), Path("none.db"))
    plan = Plan(1, (PlannedCalls(1, "simulated:persona", 2, 10, 10),))
    assert priced(plan, frozen)["at_most"] is None and not plan.exact and plan.calls_expected == 2


# -- how long -----------------------------------------------------------------------------------------


AGENTS = [{"name": name, "model": "simulated:x", "secret": f"{name} secret"} for name in ("Ada", "Bob")]


@pytest.mark.parametrize(
    ("waves", "calls", "service", "seconds"),
    [
        (5, 100, {"max_concurrent": 10}, 100.0),
        (20, 3, {"max_concurrent": 100}, 40.0),
        (1, 11, {"max_concurrent": 10}, 4.0),
        (2, 30, {"max_concurrent": 30, "requests_per_minute": 6}, 600.0),
    ],
)
def test_waves_follow_one_another_however_many_calls_may_go_at_once(
    waves: int, calls: int, service: dict[str, int], seconds: float
) -> None:
    config = config_from(
        {
            "batch": {"kind": "secret_game"},
            "secret_game": {},
            "agents": AGENTS,
            "service": service,
            "providers": {"simulated": {"latency": 2.0}},
        }
    )
    plan = Plan(calls, tuple(PlannedCalls(wave, "simulated:x", calls, 10, 10) for wave in range(1, waves + 1)))
    assert priced(plan, freeze(config, Path("none.db")))["seconds_live"] == pytest.approx(seconds)
