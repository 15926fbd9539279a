"""What is larger than any study needs is refused with a clear word, before anything is planned or written."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.config import ceilings
from tidepool.engine.config.entities import Entity, read_entities
from tidepool.engine.config.freezing import freeze, load_frozen, validate_all
from tidepool.engine.config.library import read_agents, stored_entity
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.errors import UsageError
from tidepool.engine.run import create_batch
from tidepool.engine.studies.data_files import rows_of
from tidepool.engine.studies.mutation.queries import load_queries
from tidepool.engine.studies.study import study_from
from tidepool.storage import library
from tidepool.storage.file import prepare

AGENTS = [{"name": name, "model": "simulated:guarded", "secret": f"{name}word"} for name in ("Ada", "Bob")]
SMALL: dict[str, dict[str, Any]] = {
    "simulation": {"simulation": {"context": "A mill"}, "entities": [{"name": "Ada"}, {"name": "Bob"}]},
    "secret_game": {"secret_game": {}, "agents": AGENTS},
    "evolution": {"evolution": {}},
    "mutation": {"mutation": {}},
}


def study(kind: str, section: str = "", **changes: Any) -> dict[str, Any]:
    data = {"batch": {"kind": kind}, **SMALL[kind]}
    return {**data, section: {**data.get(section, {}), **changes}} if section else data


def deep() -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(5000):
        nested = {"a": nested}
    return nested


LONG = "x" * (ceilings.TEXT + 1)


@pytest.mark.parametrize(
    ("kind", "section", "changes", "key"),
    [
        ("simulation", "batch", {"name": "x" * 501}, "batch.name"),
        ("simulation", "batch", {"description": LONG}, "batch.description"),
        ("simulation", "batch", {"metadata": {"x": LONG}}, "metadata"),
        ("simulation", "batch", {"metadata": deep()}, "metadata"),
        ("simulation", "simulation", {"num_simulations": 10**9}, "num_simulations"),
        ("simulation", "simulation", {"context": "x" * (ceilings.CONTEXT + 1)}, "context"),
        ("simulation", "simulation", {"n_turns": 1000, "simulation_rounds": 1000}, "n_turns"),
        ("simulation", "service", {"timeout": float("inf")}, "service.timeout"),
        ("secret_game", "secret_game", {"num_interactions": 10**9}, "num_interactions"),
        ("evolution", "evolution", {"max_generations": 10**9}, "max_generations"),
        ("evolution", "evolution", {"seed_prompts": [LONG]}, "seed_prompts[0]"),
        ("mutation", "mutation", {"num_env_steps": 10**9}, "num_env_steps"),
        ("mutation", "mutation", {"query_list": [{"query": LONG}]}, "query_list[0].query"),
    ],
)
def test_what_is_too_large_is_told_by_its_key_and_in_a_form(
    kind: str, section: str, changes: dict[str, Any], key: str, tmp_path: Path
) -> None:
    data = study(kind, section, **changes)
    with pytest.raises(UsageError) as told:
        config_from(data)
    assert key in str(told.value) and len(str(told.value)) < 500
    frozen, problems = validate_all(data, tmp_path, tmp_path / "s.db")
    assert frozen is None and problems[0].sentence in str(told.value)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("secret_game", {"games": 10**6, "rounds": 10**6}),
        ("evolution", {"population_size": 10_000, "max_generations": 1_000}),
        ("mutation", {"num_env_steps": 10**8}),
    ],
)
def test_a_batch_of_too_many_units_is_neither_planned_nor_written(
    kind: str, changes: dict[str, Any], database: Path
) -> None:
    config = config_from(study(kind, kind, **changes))
    with pytest.raises(UsageError, match="The maximum is 1,000,000"):
        study_from(freeze(config, database)).plan()
    with pytest.raises(UsageError, match="The maximum is 1,000,000"):
        create_batch(config, database)
    assert not database.exists()


def test_what_is_taken_in_is_held_to_the_same(tmp_path: Path, database: Path) -> None:
    (tmp_path / "context.txt").write_text("x" * (ceilings.CONTEXT + 1))
    data = study("simulation", "simulation", context="", context_file="context.txt")
    with pytest.raises(UsageError, match=r"simulation\.context"):
        freeze(config_from(data, folder=tmp_path), database)
    with pytest.raises(UsageError, match="100,001 characters"):
        freeze(config_from({**study("simulation"), "entities": [{"name": "Ada", "description": LONG}]}), database)


def test_more_entities_than_a_batch_holds_are_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "ENTITIES", 2)
    prepare(database)
    library.add(database, [stored_entity(Entity(f"E{number}")) for number in range(3)])
    data = study("simulation", "simulation", entity_ids=["*"])
    with pytest.raises(UsageError, match=r"3 entities\. The maximum is 2"):
        freeze(config_from({**data, "entities": []}), database)


def test_a_config_that_no_study_has_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "huge.toml").write_bytes(b"#" * (ceilings.CONFIG_BYTES + 1))
    with pytest.raises(UsageError, match="larger than 8 MiB"):
        load_config(tmp_path / "huge.toml")
    monkeypatch.setattr(ceilings, "FILE_BYTES", 1000)
    with pytest.raises(UsageError, match="stored config is larger"):
        load_frozen("[" * 1001)


def tables(count: int) -> str:
    return "".join(f"[t{place}]\n" for place in range(count))


BOMBS = {
    "a key of many parts": ("a.toml", ".".join("a" * 50_000) + " = 1", "line 1: this key has 100 parts or more"),
    "a table of many parts": ("a.toml", "\n[" + ".".join("a" * 50_000) + "]", "line 2: this key has 100 parts or more"),
    "many tables": ("a.toml", tables(ceilings.TABLES + 1), "tables in brackets"),
    "many agents": ("a.toml", '[[agents]]\nname = "Ada"\n' * (ceilings.TABLES + 1), "tables in brackets"),
    "nested lists": ("a.toml", f"x = {'[' * 50_000}{']' * 50_000}", "line 1"),
    "many columns": ("a.csv", ",".join(f"c{place}" for place in range(100_000)), "100,000 columns"),
}


@pytest.mark.parametrize(("name", "text", "words"), BOMBS.values(), ids=BOMBS)
def test_a_small_file_that_takes_long_to_read_is_refused_at_once(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    begun = time.process_time()
    with pytest.raises(UsageError, match=words) as refused:
        read_agents(tmp_path / name) if name.endswith(".csv") else load_config(tmp_path / name)
    assert time.process_time() - begun < 2 and len(str(refused.value)) < 2_000


@pytest.mark.parametrize(
    "read", [load_config, read_entities, read_agents, load_queries, rows_of], ids=lambda one: one.__name__
)
def test_a_device_or_a_pipe_is_not_opened(tmp_path: Path, read: Callable[..., Any]) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        with pytest.raises(UsageError, match="is a device or a pipe"):
            list(read(tmp_path / name))
