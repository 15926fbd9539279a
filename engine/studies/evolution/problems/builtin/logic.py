"""Short logic: orders, days, switches, if-then. Answers are words."""

from random import Random

from tidepool.engine.studies.evolution.problems.builtin.template import PEOPLE, Template, Values, Worked, pick

_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_TRAITS = "taller older faster stronger richer louder"
_CREATURES = "wugs blips dorfs glims norps tivs quills zemps fims parls"


def _three(rng: Random) -> Values:
    first, second, third = rng.sample(PEOPLE.split(), 3)
    return {"p": first, "q": second, "r": third, "more": pick(rng, _TRAITS)}


def _four(rng: Random) -> Values:
    names = dict(zip("pqrs", rng.sample(PEOPLE.split(), 4), strict=True))
    return {**names, "more": pick(rng, _TRAITS)}


def _day(rng: Random) -> Values:
    return {"day": rng.choice(_DAYS), "a": rng.randint(8, 60)}


def _later(values: Values) -> Worked:
    day, ahead = _DAYS.index(values["day"]), values["a"]
    answer = _DAYS[(day + ahead) % 7]
    working = f"Weeks of seven days bring {values['day']} again; {ahead % 7} days remain after them."
    return Worked(answer, working, tuple(other for other in _DAYS if other != answer))


def _switch(rng: Random) -> Values:
    return {"who": pick(rng, PEOPLE), "state": pick(rng, "on off"), "a": rng.randint(4, 60)}


def _switched(values: Values) -> Worked:
    other = {"on": "off", "off": "on"}
    odd = values["a"] % 2
    answer = other[values["state"]] if odd else values["state"]
    parity = "odd" if odd else "even"
    return Worked(
        answer, f"An even number of presses changes nothing, and {values['a']} is {parity}.", (other[answer],)
    )


def _chain(rng: Random) -> Values:
    first, second, third = rng.sample(_CREATURES.split(), 3)
    asked = rng.choice(((first, third), (third, first)))
    return {"p": first, "q": second, "r": third, "x": asked[0], "y": asked[1]}


def _follows(values: Values) -> Worked:
    along = values["x"] == values["p"]
    working = f"From {values['p']} the chain leads over {values['q']} to {values['r']}, and only in that direction."
    return Worked("yes" if along else "no", working, ("no" if along else "yes",))


def _extreme(values: Values, names: str, answer: str) -> Worked:
    people = [values[name] for name in names]
    working = f"In order, from the top: {', '.join(people)}."
    right = values[answer]
    return Worked(right, working, tuple(one for one in people if one != right))


TEMPLATES = (
    Template(
        "logic",
        2,
        "{p} is {more} than {q}. {q} is {more} than {r}. Who is the least so of the three?",
        _three,
        lambda v: _extreme(v, "pqr", "r"),
    ),
    Template(
        "logic",
        4,
        "{q} is {more} than {r}. {p} is {more} than {q}. {r} is {more} than {s}. Who comes second in this order?",
        _four,
        lambda v: _extreme(v, "pqrs", "q"),
    ),
    Template("logic", 3, "Today is {day}. Which day of the week will it be in {a} days?", _day, _later),
    Template(
        "logic",
        2,
        "A lamp is {state}. {who} presses its switch {a} times. Is the lamp on or off now?",
        _switch,
        _switched,
    ),
    Template(
        "logic",
        4,
        "All {p} are {q}. All {q} are {r}. Some things are not {q}. Must all {x} be {y}? Answer yes or no.",
        _chain,
        _follows,
    ),
)
