"""What a case is, and the sound configs that the mistakes are made in."""

from dataclasses import dataclass

GAME = """\
[batch]
kind = "secret_game"
name = "Trial"
seed = 42

[service]
name = "live"
max_concurrent = 10

[secret_game]
num_interactions = 4
messages_per_interaction = 3

[[agents]]
name = "Ada"
model = "simulated:guarded"
secret = "marigold"

[[agents]]
name = "Bob"
model = "simulated:trusting"
secret = "lantern"
"""

PANEL = """\
[batch]
kind = "simulation"

[simulation]
context = "A panel on climate policy"
interaction_size = 2
num_simulations = 3

[[entities]]
name = "Hypatia"
description = "Mathematician of Alexandria"
attributes = { openness = 9, age = 45 }

[[entities]]
name = "Darwin"
description = "Naturalist"
"""

EVOLUTION = """\
[batch]
kind = "evolution"

[evolution]
model = "simulated:solver"
mutator = "simulated:rewriter"
population_size = 10
max_generations = 5
elite_size = 2
"""

MUTATION = """\
[batch]
kind = "mutation"

[mutation]
target = "simulated:target"
reward = "similarity"
learner = "bandit"
num_env_steps = 200
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    label: str
    text: str
    place: str
    """the line that the answer must open with"""
    fix: str
    """what of the cure it must name"""


def swapped(text: str, old: str, new: str) -> str:
    """The sound config with one thing in it written otherwise."""
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)
