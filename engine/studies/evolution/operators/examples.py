"""Solved problems that a prompt shows before the question, as genes: added, dropped, moved, replaced, and taken from both parents.

They are numbers of problems of the search; others are never shown. The order counts: models weigh the last one most.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

Examples = tuple[int, ...]
CHANGED = 0.4
"""share of children whose examples change"""


@dataclass(frozen=True, slots=True)
class Showable:
    """Which problems may be shown, and how many at once."""

    problems: Sequence[int] = ()
    most: int = 0

    def __bool__(self) -> bool:
        return bool(self.problems) and self.most > 0


NOTHING = Showable()


def add_example(examples: Examples, showable: Showable, rng: Random) -> Examples:
    left = [one for one in showable.problems if one not in examples]
    if not left or len(examples) >= showable.most:
        return examples
    place = rng.randint(0, len(examples))
    return (*examples[:place], rng.choice(left), *examples[place:])


def drop_example(examples: Examples, showable: Showable, rng: Random) -> Examples:
    place = rng.randrange(len(examples))
    return examples[:place] + examples[place + 1 :]


def swap_examples(examples: Examples, showable: Showable, rng: Random) -> Examples:
    if len(examples) < 2:
        return examples
    first, second = rng.sample(range(len(examples)), 2)
    swapped = list(examples)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return tuple(swapped)


def replace_example(examples: Examples, showable: Showable, rng: Random) -> Examples:
    left = [one for one in showable.problems if one not in examples]
    place = rng.randrange(len(examples))
    return (*examples[:place], rng.choice(left), *examples[place + 1 :]) if left else examples


_CHANGES: tuple[Callable[[Examples, Showable, Random], Examples], ...] = (
    add_example,
    add_example,
    drop_example,
    swap_examples,
    replace_example,
    replace_example,
)


def varied(examples: Examples, showable: Showable, rng: Random) -> tuple[Examples, str | None]:
    """Now and then changed, with the name of the change. Nothing is drawn where nothing may be shown."""
    if not showable or rng.random() >= CHANGED:
        return examples, None
    if not examples:
        return drawn(showable, rng, least=1), "show_examples"
    change = rng.choice(_CHANGES)
    changed = change(examples, showable, rng)
    return changed, change.__name__ if changed != examples else None


def crossed(mother: Examples, father: Examples, showable: Showable, rng: Random) -> Examples:
    """Any of those that one of them shows, in their order: as many as one of them has, or a number between."""
    both = list(dict.fromkeys((*mother, *father)))
    if not showable or not both:
        return ()
    fewest, most = sorted((len(mother), len(father)))
    kept = set(rng.sample(both, min(rng.randint(fewest, most), len(both))))
    return tuple(one for one in both if one in kept)


def drawn(showable: Showable, rng: Random, least: int = 0) -> Examples:
    """Any number of them: what random search shows, and a prompt's first."""
    if not showable:
        return ()
    most = min(showable.most, len(showable.problems))
    return tuple(rng.sample(showable.problems, rng.randint(least, most)))
