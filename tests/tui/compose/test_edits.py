"""Changing a study's TOML one key at a time."""

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.kinds import KINDS
from tidepool.tui.app.compose.edits import Append, Drop, Edit, Put, apply, edited, values_of
from tidepool.tui.app.compose.fields import UNSET, KeyPath
from tidepool.tui.app.kind_screens import template

TEXT = """# my study
[batch]
kind = "secret_game"  # the kind
seed = 42 # lucky

[service]
name = "live"   # fast

# about the game
[secret_game]
scoring = { both = 2 } # generous

# people
[[agents]]
name = "Ada"
model = "simulated:guarded" # shy

[[agents]]
name = "Bob"
"""

CASES: list[tuple[Edit, str]] = [
    (Put(("batch", "seed"), 43), "seed = 43 # lucky"),
    (Put(("service", "max_concurrent"), 5), 'name = "live"   # fast\nmax_concurrent = 5\n\n# about the game'),
    (Put(("secret_game", "rounds"), 3), "# generous\nrounds = 3\n\n# people"),
    (Put(("secret_game", "scoring", "none"), 1), "{ both = 2, none = 1} # generous"),
    (Put(("agents", 0, "model"), "gpt4o_mini"), 'model = "gpt4o_mini" # shy'),
    (Put(("providers", "simulated", "latency"), 0.5), "[providers.simulated]\nlatency = 0.5"),
    (Put(("batch", "description"), "one\ntwo"), 'description = """one\ntwo"""'),
    (Put(("agent_ids",), ["a-1"]), 'agent_ids = ["a-1"]\n\n[batch]'),
    (Append(("agents",), {"name": "Cleo"}), '[[agents]]\nname = "Cleo"'),
    (Append(("entities",), {"name": "Mina", "attributes": {"age": 21}}), "attributes = {age = 21}"),
]


@pytest.mark.parametrize(("edit", "expected"), CASES)
def test_a_change_leaves_comments_and_order_as_they_are(edit: Edit, expected: str) -> None:
    text = edited(TEXT, [edit])
    assert expected in text
    assert all(remark in text for remark in re.findall("# .*", TEXT))


def test_what_is_taken_away_is_gone_and_sections_stay() -> None:
    text = edited(
        TEXT, [Put(("service", "name"), UNSET), Drop(("agents",), 0), Put(("secret_game", "scoring", "both"), UNSET)]
    )
    assert values_of(text) == {
        "batch": {"kind": "secret_game", "seed": 42},
        "service": {},
        "secret_game": {},
        "agents": [{"name": "Bob"}],
    }


def test_scattered_tables_are_edited_even_where_comments_cannot_be_kept() -> None:
    text = "[providers.simulated]\nlatency = 1\n[batch]\nkind = 'x'\n[providers.openai]\nretries = 1\n"
    values = values_of(
        edited(text, [Put(("providers", "ollama", "retries"), 2), Put(("providers", "simulated", "jitter"), 3)])
    )
    assert values["providers"] == {
        "simulated": {"latency": 1, "jitter": 3},
        "openai": {"retries": 1},
        "ollama": {"retries": 2},
    }


KEYS = st.sampled_from(["name", "seed", "mode", "rounds", "scoring", "both", "a b", "é", "latency"])
SECTIONS = st.sampled_from(["batch", "service", "secret_game", "simulation", "evolution", "providers"])
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(max_size=20), st.just(UNSET)
)
VALUES = st.one_of(
    SCALARS, st.lists(st.integers(0, 9), max_size=3), st.dictionaries(KEYS, st.text(max_size=5), max_size=2)
)
PATHS: st.SearchStrategy[KeyPath] = st.one_of(
    st.tuples(SECTIONS, KEYS),
    st.tuples(SECTIONS, KEYS, KEYS),
    st.tuples(st.just("agents"), st.integers(0, 3), KEYS),
    st.tuples(st.sampled_from(["agent_ids", "entities"])),
)
EDITS = st.one_of(
    st.builds(Put, PATHS, VALUES),
    st.builds(
        Append, st.sampled_from([("agents",), ("entities",)]), st.dictionaries(KEYS, st.text(max_size=9), min_size=1)
    ),
    st.builds(Drop, st.sampled_from([("agents",), ("entities",)]), st.integers(0, 3)),
)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([*KINDS, ""]), st.lists(EDITS, max_size=6))
def test_the_text_always_says_what_the_values_say(kind: str, edits: list[Edit]) -> None:
    text = template(kind) if kind else ""
    expected: dict[str, Any] = values_of(text)
    for edit in edits:
        apply(expected, edit)
    assert tomllib.loads(edited(text, edits)) == expected
