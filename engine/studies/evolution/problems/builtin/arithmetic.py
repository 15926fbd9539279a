"""Arithmetic word problems in five levels: more steps and larger numbers as they rise."""

from random import Random

from tidepool.engine.studies.evolution.problems.builtin.template import Template, Values, Worked, person, pick

_THINGS = "apples marbles stamps shells postcards buttons candles pencils walnuts tickets"
_GOODS = "notebooks lamps mugs baskets kites chairs puzzles scarves clocks brushes"


def _worked(answer: int, working: str) -> Worked:
    return Worked(str(answer), working)


def _more(rng: Random) -> Values:
    return {"who": person(rng), "a": rng.randint(3, 40), "b": rng.randint(2, 30), "thing": pick(rng, _THINGS)}


def _fewer(rng: Random) -> Values:
    start = rng.randint(12, 60)
    return {"who": person(rng), "a": start, "b": rng.randint(2, start - 3), "thing": pick(rng, _THINGS)}


def _rows(rng: Random) -> Values:
    return {"who": person(rng), "a": rng.randint(3, 12), "b": rng.randint(3, 12), "thing": pick(rng, _GOODS)}


def _shared(rng: Random) -> Values:
    each, friends = rng.randint(3, 15), rng.randint(2, 9)
    return {"who": person(rng), "a": each * friends, "b": friends, "thing": pick(rng, _THINGS)}


def _boxes_less(rng: Random) -> Values:
    boxes, inside = rng.randint(3, 14), rng.randint(5, 16)
    sold = rng.randint(2, boxes * inside - 2)
    return {"who": person(rng), "a": boxes, "b": inside, "c": sold, "thing": pick(rng, _GOODS)}


def _change(rng: Random) -> Values:
    price, count = rng.randint(3, 14), rng.randint(3, 9)
    note = price * count + rng.randint(2, 30)
    return {"who": person(rng), "a": count, "b": price, "c": note, "thing": pick(rng, _GOODS)}


def _journey(rng: Random) -> Values:
    numbers = {
        "a": rng.randint(2, 6),
        "b": rng.randint(40, 90),
        "c": rng.randint(2, 5),
        "d": rng.randint(45, 95),
    }
    return {"who": person(rng), **numbers}


def _factory(rng: Random) -> Values:
    per_hour, hours, days = rng.randint(12, 48), rng.randint(5, 9), rng.randint(3, 12)
    spoiled = rng.randint(5, per_hour * 2)
    return {"a": per_hour, "b": hours, "c": days, "d": spoiled, "thing": pick(rng, _GOODS)}


def _discount(rng: Random) -> Values:
    price, percent = rng.randint(4, 30) * 20, rng.choice((5, 10, 15, 20, 25, 30, 40))
    return {"who": person(rng), "a": rng.randint(2, 9), "b": price, "c": percent, "thing": pick(rng, _GOODS)}


def _ages(rng: Random) -> Values:
    young, factor, later = rng.randint(3, 12), rng.randint(2, 5), rng.randint(3, 15)
    names = rng.sample(["Amira", "Bruno", "Chiara", "Elif", "Jonas", "Nora", "Priya", "Sven"], 2)
    return {"who": names[0], "other": names[1], "a": factor, "b": young, "c": later}


def _tanks(rng: Random) -> Values:
    into, out = rng.randint(14, 40), rng.randint(3, 11)
    minutes = rng.randint(6, 30)
    return {"a": into, "b": out, "c": (into - out) * minutes}


def _mixture(rng: Random) -> Values:
    numbers = {
        "a": rng.randint(12, 60),
        "b": rng.randint(3, 9),
        "c": rng.randint(11, 50),
        "d": rng.randint(2, 8),
    }
    return {"who": person(rng), **numbers, "e": rng.randint(20, 60), "thing": pick(rng, _THINGS)}


TEMPLATES = (
    Template(
        "arithmetic",
        1,
        "{who} has {a} {thing} and finds {b} more. How many {thing} does {who} have now?",
        _more,
        lambda v: _worked(v["a"] + v["b"], f"Begin with {v['a']} and add {v['b']}."),
    ),
    Template(
        "arithmetic",
        1,
        "{who} had {a} {thing} and gave {b} of them away. How many {thing} are left?",
        _fewer,
        lambda v: _worked(v["a"] - v["b"], f"Begin with {v['a']} and take away {v['b']}."),
    ),
    Template(
        "arithmetic",
        2,
        "{who} puts {thing} into {a} rows with {b} in each row. How many {thing} are there in all?",
        _rows,
        lambda v: _worked(v["a"] * v["b"], f"There are {v['a']} rows of {v['b']}, so multiply {v['a']} by {v['b']}."),
    ),
    Template(
        "arithmetic",
        2,
        "{who} shares {a} {thing} equally among {b} friends. How many {thing} does each friend get?",
        _shared,
        lambda v: _worked(v["a"] // v["b"], f"Divide {v['a']} by {v['b']}."),
    ),
    Template(
        "arithmetic",
        3,
        "A shop gets {a} boxes with {b} {thing} each and sells {c} of the {thing} to {who}. "
        "How many {thing} does the shop still have?",
        _boxes_less,
        lambda v: _worked(
            v["a"] * v["b"] - v["c"], f"{v['a']} times {v['b']} is {v['a'] * v['b']}. Take away {v['c']}."
        ),
    ),
    Template(
        "arithmetic",
        3,
        "{who} buys {a} {thing} at {b} coins each and pays with {c} coins. How many coins does {who} get back?",
        _change,
        lambda v: _worked(
            v["c"] - v["a"] * v["b"],
            f"All of them cost {v['a']} times {v['b']}, so {v['a'] * v['b']}. Subtract that from {v['c']}.",
        ),
    ),
    Template(
        "arithmetic",
        4,
        "{who} drives {a} hours at {b} kilometres an hour and then {c} hours at {d} kilometres an hour. "
        "How many kilometres is the whole journey?",
        _journey,
        lambda v: _worked(
            v["a"] * v["b"] + v["c"] * v["d"],
            f"The first part is {v['a'] * v['b']} kilometres, the second {v['c'] * v['d']}. Add them.",
        ),
    ),
    Template(
        "arithmetic",
        4,
        "{who} orders {a} {thing} with a list price of {b} coins each, at a discount of {c} percent. "
        "How many coins does {who} pay?",
        _discount,
        lambda v: _worked(
            v["a"] * v["b"] * (100 - v["c"]) // 100,
            f"The list price of all is {v['a'] * v['b']}. Take {v['c']} percent off.",
        ),
    ),
    Template(
        "arithmetic",
        4,
        "{who} is {a} times as old as {other}, who is {b}. How old will {who} be in {c} years?",
        _ages,
        lambda v: _worked(v["a"] * v["b"] + v["c"], f"Now the age is {v['a'] * v['b']}. Add {v['c']} years."),
    ),
    Template(
        "arithmetic",
        5,
        "A workshop makes {a} {thing} an hour, works {b} hours a day, "
        "and throws away {d} spoiled {thing} every day. How many good {thing} does it make in {c} days?",
        _factory,
        lambda v: _worked(
            (v["a"] * v["b"] - v["d"]) * v["c"],
            f"A day brings {v['a'] * v['b']}; {v['a'] * v['b'] - v['d']} are good. Multiply by {v['c']}.",
        ),
    ),
    Template(
        "arithmetic",
        5,
        "A tank gains {a} litres a minute through one pipe and loses {b} litres a minute through another. "
        "It starts empty. After how many minutes does it hold {c} litres?",
        _tanks,
        lambda v: _worked(
            v["c"] // (v["a"] - v["b"]),
            f"It gains {v['a'] - v['b']} litres a minute. Divide {v['c']} by that.",
        ),
    ),
    Template(
        "arithmetic",
        5,
        "{who} sells {a} {thing} at {b} coins and {c} {thing} at {d} coins, "
        "and pays {e} coins for the stall. How many coins has {who} earned?",
        _mixture,
        lambda v: _worked(
            v["a"] * v["b"] + v["c"] * v["d"] - v["e"],
            f"The sales are {v['a'] * v['b']} and {v['c'] * v['d']}. Add them and subtract {v['e']}.",
        ),
    ),
)
