"""What a plan says about provider batches is what happens: every kind, its modes, and the services."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import study as evolution
from tests.engine.studies.mutation.studies import mutation
from tests.engine.studies.simulation.panels import panel
from tests.support.state import query
from tests.support.studies import game
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import Agent, Config, Study
from tidepool.engine.events import TransportPlanned
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.plans import priced
from tidepool.engine.studies.study import study_from

NAMES = ("Ada", "Bob", "Cleo", "Dion", "Eve", "Finn")
EVOLVING: dict[str, Any] = {"max_generations": 3, "stagnation": 50, "target_fitness": 1.0}
JUDGED: dict[str, Any] = {"detection": ["exact", "judge"], "judge": "simulated:judge"}


def remembering(*who: str) -> list[Agent]:
    memory = {name: "long" if name in who else "short" for name in NAMES}
    return [Agent(name=n, model="simulated:guarded", secret=f"{n} word", memory=memory[n]) for n in NAMES]  # type: ignore[arg-type]


def changed(study: Study, **settings: Any) -> Study:
    return study.model_copy(update=settings)


STUDIES: dict[str, Callable[[], Study]] = {
    "standard": lambda: game(24, 3),
    "judged": lambda: changed(game(24, 3), **JUDGED),
    "retained": lambda: game(16, 3, mode="retained"),
    "diversity, 3 games, judged": lambda: changed(game(24, 3, mode="diversity", games=3), **JUDGED),
    "targeted": lambda: game(16, 3, mode="targeted", targeted_secret="marigold"),
    "one remembers": lambda: changed(game(30, 3), agents=remembering("Ada")),
    "all remember": lambda: changed(game(15, 3), agents=remembering(*NAMES)),
    "enacted": lambda: panel(num_simulations=12, n_turns=2),
    "narrated": lambda: panel(num_simulations=12, style="narrated", simulation_rounds=3),
    "genetic": lambda: evolution(**EVOLVING),
    "mutation": lambda: mutation(num_env_steps=16, operators=["paraphrase", "simplify"]),
}

ANY: dict[str, Any] = {"name": "auto", "batch_from": 0}
FROM_10: dict[str, Any] = {"name": "auto", "batch_from": 10}
DEFAULT: dict[str, Any] = {"name": "auto", "batch_from": 100}
IN_GROUPS: dict[str, Any] = {"name": "openai", "batch_from": 100, "batch_size": 8}
NAMED: dict[str, Any] = {"name": "anthropic-conversation", "batch_from": 100}
LIVE: dict[str, Any] = {"name": "live", "batch_from": 0}

TABLE = [
    ("standard", ANY, 3),
    ("standard", DEFAULT, 0),
    ("standard", IN_GROUPS, 9),
    ("standard", NAMED, 3),
    ("standard", LIVE, 0),
    ("judged", ANY, 4),
    ("judged", IN_GROUPS, 15),
    ("retained", ANY, 24),
    ("retained", FROM_10, 0),
    ("retained", IN_GROUPS, 24),
    ("diversity, 3 games, judged", DEFAULT, 0),
    ("one remembers", FROM_10, 3),
    ("targeted", NAMED, 24),
    ("all remember", ANY, 15),
    ("enacted", IN_GROUPS, 8),
    ("narrated", FROM_10, 3),
    ("genetic", ANY, 15),
    ("genetic", {"name": "auto", "batch_from": 5}, 13),
    ("mutation", ANY, 18),
    ("mutation", FROM_10, 10),
]


def served(study: Study, service: dict[str, Any]) -> Config:
    config = study.as_config()
    return config.model_copy(update={"service": config.service.model_copy(update={"poll_interval": 0.001, **service})})


def planned(config: Config) -> dict[str, Any]:
    frozen = freeze(config, Path("none.db"))
    transport: dict[str, Any] = priced(study_from(frozen).plan(), frozen)["transport"]
    return transport


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "service", "batches"), TABLE, ids=lambda one: one if isinstance(one, str) else str(one)[9:28]
)
async def test_as_many_provider_batches_are_ordered_as_were_planned(
    name: str, service: dict[str, Any], batches: int, tmp_path: Path
) -> None:
    config = served(STUDIES[name](), service)
    transport = planned(config)
    heard: list[TransportPlanned] = []
    await run_batch(
        config, tmp_path / "x.db", on_event=lambda event: isinstance(event, TransportPlanned) and heard.append(event)
    )
    ordered = query(tmp_path / "x.db", "SELECT calls FROM provider_batches")
    assert len(ordered) == transport["provider_batches"] == batches
    assert [told.words for told in heard] == [tuple(transport["words"])]


async def test_verdicts_may_leave_with_the_next_round_and_are_planned_by_themselves(tmp_path: Path) -> None:
    config = served(STUDIES["diversity, 3 games, judged"](), ANY)
    await run_batch(config, tmp_path / "x.db")
    ordered = query(tmp_path / "x.db", "SELECT calls FROM provider_batches")
    assert (len(ordered), planned(config)["provider_batches"]) == (13, 16)


OURS = ("openai:gpt-4o-mini", "openai:gpt-6-luna")
TALKS: dict[str, Any] = {"games": 1, "messages_per_interaction": 5, "detection": ["exact"]}

WORDS = [
    ({"num_interactions": 6}, {}, "openai live, up to 6 requests per wave (batch API from 100, service.batch_from)"),
    (
        {"num_interactions": 6},
        {"batch_from": 0},
        "openai by batch API: 10 provider batches, in 5 rounds, minutes to 24 h each",
    ),
    (
        {"num_interactions": 6},
        {"name": "anthropic"},
        "openai live, up to 6 requests per wave (batch API from 100, service.batch_from)",
    ),
    ({"num_interactions": 3_000, "mode": "diversity"}, {"name": "live"}, "openai live"),
    (
        {"num_interactions": 3_000, "mode": "diversity", "models": OURS[:1]},
        {"name": "openai"},
        "openai by batch API: 7,500 provider batches, one after another, minutes to 24 h each",
    ),
    (
        {"num_interactions": 12_000, "messages_per_interaction": 1, "models": OURS[:1]},
        {},
        "openai by batch API: 3 provider batches, all at once, minutes to 24 h each",
    ),
    (
        {"num_interactions": 200, "messages_per_interaction": 1, "models": OURS[:1]},
        {},
        "openai by batch API: 1 provider batch, minutes to 24 h",
    ),
]


@pytest.mark.parametrize(("settings", "service", "words"), WORDS)
def test_a_plan_tells_the_way_how_many_follow_one_another_and_the_wait(
    settings: dict[str, Any], service: dict[str, Any], words: str
) -> None:
    models = settings.get("models", OURS)
    agents = [{"name": n, "model": models[k % len(models)], "secret": f"{n} word"} for k, n in enumerate(NAMES[:4])]
    section = {**TALKS, **{key: value for key, value in settings.items() if key != "models"}}
    written = {"batch": {"kind": "secret_game"}, "secret_game": section, "agents": agents, "service": service}
    assert planned(config_from(written))["words"] == [words]


async def test_what_the_budget_holds_back_of_a_large_wave_goes_the_way_of_the_wave(tmp_path: Path) -> None:
    """Rest by rest, each smaller than batch_from."""
    priced = {"price_input": 1.0, "price_output": 10.0}
    free = await run_batch(served(game(60, 1, simulated=priced), LIVE), tmp_path / "free.db")
    budget = {"name": "auto", "batch_from": 50, "budget_usd": free["cost_usd"] * 2}
    await run_batch(served(game(60, 1, simulated=priced), budget), tmp_path / "x.db")
    sizes = [calls for (calls,) in query(tmp_path / "x.db", "SELECT calls FROM provider_batches")]
    assert len(sizes) > 1 and min(sizes) < 50
    assert query(tmp_path / "x.db", "SELECT count(*) FROM messages") == [(sum(sizes),)]
