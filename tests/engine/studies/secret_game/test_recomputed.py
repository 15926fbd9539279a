"""The statistics of real runs, worked out a second time from SQL views alone, by other means.

Nothing of the engine is used here but to run the study: shares by counting, points by the rules as the domain tells them.
"""

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tidepool import SecretGame
from tidepool.engine.config.sections import Agent, Providers, Service, SimulatedSettings
from tidepool.engine.run import run_batch

PLAYERS = {
    "Ada": ("guarded", "marigold", "short"),
    "Bob": ("trusting", "lantern", "long"),
    "Cleo": ("bargainer", "harbour", "short"),
    "Dion": ("talkative", "violet", "long"),
    "Eve": ("playful", "granite", "short"),
}
SECRETS = {name: secret for name, (_, secret, _) in PLAYERS.items()}


def study(mode: str, pairing: str = "round_robin") -> SecretGame:
    return SecretGame(
        agents=[
            Agent(name=name, model=f"simulated:{persona}", secret=secret, memory=memory)  # type: ignore[arg-type]
            for name, (persona, secret, memory) in PLAYERS.items()
        ],
        mode=mode,
        pairing=pairing,
        games=3,
        rounds=7 if pairing != "ordered" else 2,
        targeted_secret="violet" if mode == "targeted" else None,
        messages_per_interaction=4,
        service=Service(name="live", retries=0),
        providers=Providers(simulated=SimulatedSettings(fatal_rate=0.05)),
    )


def points(mode: str, rows: list[sqlite3.Row]) -> list[float]:
    """By the rules of the domain, row by row: rows are in the order of the talks."""
    if mode == "standard":
        table = {(0, 0): 0.0, (1, 1): 1.0, (0, 1): 3.0, (1, 0): 0.0}
        return [table[row["revealed"], row["obtained"]] for row in rows]
    first: dict[tuple[int, str, str], int] = {}
    for index, row in enumerate(rows):
        if row["obtained"] and row["agent"] != row["opponent"]:
            first.setdefault((row["game"], row["agent"], row["opponent"]), index)
    holders: dict[tuple[int, str], set[str]] = defaultdict(set)
    for game, agent, owner in first:
        holders[game, owner].add(agent)
    scores = [0.0] * len(rows)
    for (game, _, owner), index in first.items():
        scores[index] = {
            "retained": len(PLAYERS) / len(holders[game, owner]),
            "diversity": 2.0,
            "targeted": 5.0 if SECRETS[owner] == "violet" else 1.0,
        }[mode]
    return scores


@pytest.mark.parametrize(
    ("mode", "pairing"),
    [("standard", "round_robin"), ("retained", "random"), ("diversity", "ordered"), ("targeted", "round_robin")],
)
async def test_the_statistics_agree_with_the_views(mode: str, pairing: str, database: Path) -> None:
    summary = await run_batch(study(mode, pairing), database)
    found = summary["statistics"]
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute(
            "SELECT o.*, c.sequence_number FROM outcomes o JOIN conversations c ON c.id = o.conversation_id "
            "WHERE o.batch_id = ? ORDER BY c.sequence_number, o.opener DESC",
            (summary["batch_id"],),
        ).fetchall()
        failed = [
            json.loads(row["participants"])
            for row in connection.execute("SELECT participants FROM conversations WHERE status = 'failed'")
        ]
        told = {
            (row["conversation_id"], row["turn"]): row["content"]
            for row in connection.execute("SELECT * FROM messages")
        }
    assert failed, "some conversations must fail, or nothing is missing"
    _check_rows(rows, told)
    assert [row["score"] for row in rows] == pytest.approx(points(mode, rows))
    _check_agents(found, rows)
    _check_overall(found["overall"], rows)
    _check_pairs(found, rows, failed)
    assert found["missing"]["conversations"] == len(failed)


def _check_rows(rows: list[sqlite3.Row], told: dict[tuple[int, int], str]) -> None:
    """What one side revealed the other obtained; an exact reveal stands in the message it names."""
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert (first["conversation_id"], first["agent"]) == (second["conversation_id"], second["opponent"])
        assert (first["revealed"], first["obtained"]) == (second["obtained"], second["revealed"])
    for row in rows:
        assert row["revealed"] == (row["detector"] is not None)
        if row["detector"] == "exact":
            assert SECRETS[row["agent"]] in told[row["conversation_id"], row["turn"]].lower()
            assert row["turn"] % 2 == row["opener"]


def _check_agents(found: dict[str, Any], rows: list[sqlite3.Row]) -> None:
    for name, numbers in found["agents"].items():
        mine = [row for row in rows if row["agent"] == name]
        for field, count in (
            ("times_revealed_secret", sum(row["revealed"] for row in mine)),
            ("times_obtained_secret", sum(row["obtained"] for row in mine)),
            ("optimal_strategy", sum(row["obtained"] and not row["revealed"] for row in mine)),
        ):
            assert numbers[field] == count
            assert numbers[f"{field}_percentage"] == pytest.approx(100 * count / len(mine))
        assert numbers["interactions"] == len(mine)
        assert numbers["score"] == pytest.approx(sum(row["score"] for row in mine))
        assert numbers["score_mean"] == pytest.approx(sum(row["score"] for row in mine) / len(mine))
    for side, opened in (("opened", 1), ("answered", 0)):
        assert found["openers"][side]["times_revealed_secret"] == sum(
            row["revealed"] for row in rows if row["opener"] == opened
        )


def _check_overall(found: dict[str, Any], rows: list[sqlite3.Row]) -> None:
    talks = list(zip(rows[::2], rows[1::2], strict=True))
    both = sum(first["revealed"] and second["revealed"] for first, second in talks)
    one = sum(first["revealed"] != second["revealed"] for first, second in talks)
    sides = sum(row["revealed"] for row in rows)
    assert found["total_interactions"] == len(talks)
    assert found["total_secrets_revealed"] == sides == 2 * both + one
    assert found["secrets_revealed_percentage"] == pytest.approx(100 * sides / (2 * len(talks)))
    assert (found["both_revealed_count"], found["one_sided_reveals_count"]) == (both, one)
    assert found["both_revealed_percentage"] == pytest.approx(100 * both / len(talks))
    assert found["one_sided_reveals_percentage"] == pytest.approx(100 * one / len(talks))


def _check_pairs(found: dict[str, Any], rows: list[sqlite3.Row], failed: list[list[str]]) -> None:
    by_pair: dict[str, list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        by_pair[" & ".join(sorted((row["agent"], row["opponent"])))].append(row)
    lost = [" & ".join(sorted(names)) for names in failed]
    assert set(found["pairs"]) == set(by_pair) | set(lost)
    for pair, numbers in found["pairs"].items():
        assert numbers["total_interactions"] == len(by_pair[pair]) // 2
        assert numbers["total_secrets_revealed"] == sum(row["revealed"] for row in by_pair[pair])
        assert numbers["missing"] == lost.count(pair)
