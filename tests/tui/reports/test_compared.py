"""How the figures of several batches are called side by side."""

import pytest

from tidepool.tui.command.reports import mutation, simulation


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("judgements.mean", "mean rating"),
        ("missing.simulations", "failed simulations"),
        ("entities.Dr. No.words.mean", "Dr. No: words each"),
        ("entities.Ada.rating.mean", "Ada: rating"),
        ("entities.Ada.unrated", None),
        ("by_attribute.age.groups", None),
    ],
)
def test_figures_of_simulations(name: str, label: str | None) -> None:
    assert simulation.compared(name) == label


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("heldout.policy.mean_reward", "policy on held-out queries"),
        ("operators.shorten.uses", "shorten: uses"),
        ("operators.shorten.mean_reward", "shorten: mean reward"),
        ("heldout_operators.noop.uses", None),
        ("baselines.random.operators.noop.uses", None),
    ],
)
def test_figures_of_mutations(name: str, label: str | None) -> None:
    assert mutation.compared(name) == label
