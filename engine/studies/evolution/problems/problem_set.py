"""The problems prompts are judged by, and the built-in sets of them.

No two splits share a question: what selects a prompt must not also praise it. Problems of one's own files come in by
`intake`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from random import Random
from typing import Any, Literal, TypeVar

from tidepool.engine.call import stream
from tidepool.engine.errors import UsageError

Values = Mapping[str, Any]
"""what stands in the gaps: whole numbers, or words"""

_GAP = re.compile(r"\{(\w+)\}")
_NUMBER_OR_WORDS = {True: r"\d+", False: r"[A-Za-z]+(?:, [A-Za-z]+)*"}


@dataclass(frozen=True)
class WorkedAnswer:
    answer: str
    working: str
    """the way to the answer, without the answer itself"""
    mistakes: tuple[str, ...] = ()
    """wrong answers somebody might give; for numbers, near misses are made"""


@dataclass(frozen=True)
class Template:
    kind: str
    """arithmetic, logic or strings"""
    level: int
    """difficulty, 1 to 5"""
    text: str
    draw: Callable[[Random], Values]
    """gaps whose first value is a number are read back as numbers: `a`, `b`, …; the others are words"""
    work: Callable[..., WorkedAnswer]
    """of the values, by name"""

    def question(self, values: Values) -> str:
        return self.text.format_map(values)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        sample = self.draw(Random(0))
        seen: set[str] = set()

        def gap(match: re.Match[str]) -> str:
            name = match[1]
            if name in seen:
                return f"(?P={name})"
            seen.add(name)
            return f"(?P<{name}>{_NUMBER_OR_WORDS[isinstance(sample[name], int)]})"

        return re.compile(_GAP.sub(gap, re.sub(r"([.?+*()$])", r"\\\1", self.text)))

    def read(self, question: str) -> Values | None:
        match = self.pattern.fullmatch(question)
        if match is None:
            return None
        return {name: int(text) if text.isdigit() else text for name, text in match.groupdict().items()}


def pick(rng: Random, text: str) -> str:
    """One of the words of a text."""
    return rng.choice(text.split())


PEOPLE = (
    "Amira Bruno Chiara Dmitri Elif Farid Greta Hana Ivo Jonas Kenji Lucia Malik Nora Otto Priya Rosa Sven Tala Umar"
)


def person(rng: Random) -> str:
    return pick(rng, PEOPLE)


_THINGS = "apples marbles stamps shells postcards buttons candles pencils walnuts tickets"
_GOODS = "notebooks lamps mugs baskets kites chairs puzzles scarves clocks brushes"


def _worked(answer: int, working: str) -> WorkedAnswer:
    return WorkedAnswer(str(answer), working)


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
    numbers = {"a": rng.randint(2, 6), "b": rng.randint(40, 90), "c": rng.randint(2, 5), "d": rng.randint(45, 95)}
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
    numbers = {"a": rng.randint(12, 60), "b": rng.randint(3, 9), "c": rng.randint(11, 50), "d": rng.randint(2, 8)}
    return {"who": person(rng), **numbers, "e": rng.randint(20, 60), "thing": pick(rng, _THINGS)}


ARITHMETIC = (
    Template(
        "arithmetic",
        1,
        "{who} has {a} {thing} and finds {b} more. How many {thing} does {who} have now?",
        _more,
        lambda a, b, **_: _worked(a + b, f"Begin with {a} and add {b}."),
    ),
    Template(
        "arithmetic",
        1,
        "{who} had {a} {thing} and gave {b} of them away. How many {thing} are left?",
        _fewer,
        lambda a, b, **_: _worked(a - b, f"Begin with {a} and take away {b}."),
    ),
    Template(
        "arithmetic",
        2,
        "{who} puts {thing} into {a} rows with {b} in each row. How many {thing} are there in all?",
        _rows,
        lambda a, b, **_: _worked(a * b, f"There are {a} rows of {b}, so multiply {a} by {b}."),
    ),
    Template(
        "arithmetic",
        2,
        "{who} shares {a} {thing} equally among {b} friends. How many {thing} does each friend get?",
        _shared,
        lambda a, b, **_: _worked(a // b, f"Divide {a} by {b}."),
    ),
    Template(
        "arithmetic",
        3,
        "A shop gets {a} boxes with {b} {thing} each and sells {c} of the {thing} to {who}. "
        "How many {thing} does the shop still have?",
        _boxes_less,
        lambda a, b, c, **_: _worked(a * b - c, f"{a} times {b} is {a * b}. Take away {c}."),
    ),
    Template(
        "arithmetic",
        3,
        "{who} buys {a} {thing} at {b} coins each and pays with {c} coins. How many coins does {who} get back?",
        _change,
        lambda a, b, c, **_: _worked(c - a * b, f"All of them cost {a} times {b}, so {a * b}. Subtract that from {c}."),
    ),
    Template(
        "arithmetic",
        4,
        "{who} drives {a} hours at {b} kilometres an hour and then {c} hours at {d} kilometres an hour. "
        "How many kilometres is the whole journey?",
        _journey,
        lambda a, b, c, d, **_: _worked(
            a * b + c * d, f"The first part is {a * b} kilometres, the second {c * d}. Add them."
        ),
    ),
    Template(
        "arithmetic",
        4,
        "{who} orders {a} {thing} with a list price of {b} coins each, at a discount of {c} percent. "
        "How many coins does {who} pay?",
        _discount,
        lambda a, b, c, **_: _worked(
            a * b * (100 - c) // 100, f"The list price of all is {a * b}. Take {c} percent off."
        ),
    ),
    Template(
        "arithmetic",
        4,
        "{who} is {a} times as old as {other}, who is {b}. How old will {who} be in {c} years?",
        _ages,
        lambda a, b, c, **_: _worked(a * b + c, f"Now the age is {a * b}. Add {c} years."),
    ),
    Template(
        "arithmetic",
        5,
        "A workshop makes {a} {thing} an hour, works {b} hours a day, "
        "and throws away {d} spoiled {thing} every day. How many good {thing} does it make in {c} days?",
        _factory,
        lambda a, b, c, d, **_: _worked(
            (a * b - d) * c, f"A day brings {a * b}; {a * b - d} are good. Multiply by {c}."
        ),
    ),
    Template(
        "arithmetic",
        5,
        "A tank gains {a} litres a minute through one pipe and loses {b} litres a minute through another. "
        "It starts empty. After how many minutes does it hold {c} litres?",
        _tanks,
        lambda a, b, c, **_: _worked(c // (a - b), f"It gains {a - b} litres a minute. Divide {c} by that."),
    ),
    Template(
        "arithmetic",
        5,
        "{who} sells {a} {thing} at {b} coins and {c} {thing} at {d} coins, "
        "and pays {e} coins for the stall. How many coins has {who} earned?",
        _mixture,
        lambda a, b, c, d, e, **_: _worked(
            a * b + c * d - e, f"The sales are {a * b} and {c * d}. Add them and subtract {e}."
        ),
    ),
)


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


def _later(day: str, a: int) -> WorkedAnswer:
    answer = _DAYS[(_DAYS.index(day) + a) % 7]
    working = f"Weeks of seven days bring {day} again; {a % 7} days remain after them."
    return WorkedAnswer(answer, working, tuple(other for other in _DAYS if other != answer))


def _switch(rng: Random) -> Values:
    return {"who": pick(rng, PEOPLE), "state": pick(rng, "on off"), "a": rng.randint(4, 60)}


def _switched(state: str, a: int, **_: str) -> WorkedAnswer:
    other = {"on": "off", "off": "on"}
    answer = other[state] if a % 2 else state
    parity = "odd" if a % 2 else "even"
    return WorkedAnswer(answer, f"An even number of presses changes nothing, and {a} is {parity}.", (other[answer],))


def _chain(rng: Random) -> Values:
    first, second, third = rng.sample(_CREATURES.split(), 3)
    ends = rng.choice(((first, third), (third, first)))
    return {"p": first, "q": second, "r": third, "x": ends[0], "y": ends[1]}


def _follows(p: str, q: str, r: str, x: str, y: str) -> WorkedAnswer:
    answer, other = ("yes", "no") if x == p else ("no", "yes")
    return WorkedAnswer(answer, f"From {p} the chain leads over {q} to {r}, and only in that direction.", (other,))


def _extreme(answer: str, *people: str) -> WorkedAnswer:
    working = f"In order, from the top: {', '.join(people)}."
    return WorkedAnswer(answer, working, tuple(name for name in people if name != answer))


LOGIC = (
    Template(
        "logic",
        2,
        "{p} is {more} than {q}. {q} is {more} than {r}. Who is the least so of the three?",
        _three,
        lambda p, q, r, **_: _extreme(r, p, q, r),
    ),
    Template(
        "logic",
        4,
        "{q} is {more} than {r}. {p} is {more} than {q}. {r} is {more} than {s}. Who comes second in this order?",
        _four,
        lambda p, q, r, s, **_: _extreme(q, p, q, r, s),
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


_WORDS = (
    "anchor basket candle dragon ember feather garden harbor island jacket kettle lantern meadow nutmeg "
    "orchid pebble quiver ribbon saddle timber umbrella velvet walnut yellow zephyr blanket compass "
    "dolphin engine falcon granite hammer juniper kitchen lobster mountain nectar oyster pumpkin raven "
    "silver thunder violet whistle bramble cinnamon driftwood estuary foghorn gallery heather inkwell"
)
_LETTERS = "a e i o n r t s l d"
_PLACES = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def _word(rng: Random) -> Values:
    return {"word": pick(rng, _WORDS)}


def _words(rng: Random) -> Values:
    return {"words": ", ".join(rng.sample(_WORDS.split(), rng.randint(3, 5)))}


def _word_and_letter(rng: Random) -> Values:
    return {"words": ", ".join(rng.sample(_WORDS.split(), 3)), "letter": pick(rng, _LETTERS)}


def _word_and_place(rng: Random) -> Values:
    return {"word": pick(rng, _WORDS), "place": pick(rng, " ".join(_PLACES.values()))}


def _spelled(word: str) -> str:
    return "-".join(word)


def _reversed(word: str) -> WorkedAnswer:
    answer = word[::-1]
    slips = (answer[0] + answer[2] + answer[1] + answer[3:], answer[:-1], answer + answer[-1])
    mistakes = tuple(slip for slip in slips if slip != answer)
    return WorkedAnswer(answer, f"The word is spelled {_spelled(word)}. Read it from the end.", mistakes)


def _counted(words: str, letter: str) -> WorkedAnswer:
    return WorkedAnswer(str(words.count(letter)), f"Go through {words} and mark every {letter}.")


def _last_letters(words: str) -> WorkedAnswer:
    each = words.split(", ")
    answer = "".join(word[-1] for word in each)
    firsts = "".join(word[0] for word in each)
    mistakes = tuple(slip for slip in (firsts, answer[:-1], answer + answer[0]) if slip != answer)
    return WorkedAnswer(answer, f"Take the ending of each: {words}.", mistakes)


def _at_place(word: str, place: str) -> WorkedAnswer:
    answer = word[next(number for number, name in _PLACES.items() if name == place) - 1]
    mistakes = tuple(dict.fromkeys(letter for letter in word if letter != answer))
    return WorkedAnswer(answer, f"The word is spelled {_spelled(word)}.", mistakes)


def _in_order(words: str) -> WorkedAnswer:
    each = words.split(", ")
    answer = min(each)
    return WorkedAnswer(answer, f"Compare the first letters of {words}.", tuple(w for w in each if w != answer))


STRINGS = (
    Template("strings", 3, "Write the word {word} backwards.", _word, _reversed),
    Template(
        "strings",
        4,
        "How often does the letter {letter} occur in these words, taken together: {words}?",
        _word_and_letter,
        _counted,
    ),
    Template(
        "strings",
        3,
        "Join the last letters of these words, in this order: {words}. What do you get?",
        _words,
        _last_letters,
    ),
    Template("strings", 2, "Which letter stands in {place} place in the word {word}?", _word_and_place, _at_place),
    Template("strings", 2, "Which of these words comes first in the dictionary: {words}?", _words, _in_order),
)


TEMPLATES: tuple[Template, ...] = (*ARITHMETIC, *LOGIC, *STRINGS)

SETS: dict[str, tuple[Template, ...]] = {
    "arithmetic": ARITHMETIC,
    "arithmetic-easy": tuple(one for one in ARITHMETIC if one.level <= 2),
    "arithmetic-hard": tuple(one for one in ARITHMETIC if one.level >= 4),
    "logic": LOGIC,
    "strings": STRINGS,
    "mixed": TEMPLATES,
}


@dataclass(frozen=True)
class Recognised:
    """A question traced back to its template."""

    kind: str
    level: int
    worked: WorkedAnswer


@lru_cache(maxsize=16384)
def recognise(question: str) -> Recognised | None:
    """None for a question that is not one of ours."""
    text = question.strip()
    for template in TEMPLATES:
        values = template.read(text)
        if values is not None:
            return Recognised(template.kind, template.level, template.work(**values))
    return None


def draw_question(set_name: str, rng: Random) -> tuple[str, str]:
    """A question and its answer."""
    template = rng.choice(SETS[set_name])
    values = template.draw(rng)
    return template.question(values), template.work(**values).answer


_TRIES_PER_PROBLEM = 50

T = TypeVar("T")

Split = Literal["search", "choose", "judge"]
"""what a problem is for: prompts are bred by the first, the champion is picked by the second, and judged by the third"""


@dataclass(frozen=True, slots=True)
class Problem:
    question: str
    answer: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """what else its line has: choices, tests, a source"""


@dataclass(frozen=True, slots=True)
class ProblemSet:
    name: str
    training: tuple[Problem, ...]
    validation: tuple[Problem, ...]
    choosing: tuple[Problem, ...] = ()
    """empty: the training problems pick the champion too"""


def problem_set(name: str, training: int, validation: int, seed: int, choosing: int = 0) -> ProblemSet:
    """Of a built-in set, exactly the sizes asked for."""
    if training < 1 or validation < 1:
        message = "evolution.max_problems and evolution.validation_problems must each be at least 1."
        raise UsageError(message, ("evolution", "max_problems" if training < 1 else "validation_problems"))
    problems = generate(name, training + validation + choosing, stream(seed, "problems", name))
    return ProblemSet(name, *split_problems(problems, training, validation, choosing))


def split_problems(problems: Sequence[T], *sizes: int) -> tuple[tuple[T, ...], ...]:
    """Parts of these sizes, the first one to search by. Of too few problems the others keep their size up to half of what
    is left, and the search has the rest: asking for more of it than there is does not shorten the held-out part."""
    lengths, left = [0] * len(sizes), len(problems)
    for place in (*range(1, len(sizes)), 0):
        unneeded = left - sizes[0] - sum(sizes[place + 1 :]) if place else left
        lengths[place] = min(sizes[place], max(left // 2, unneeded))
        left -= lengths[place]
    ends = accumulate(lengths)
    return tuple(tuple(problems[end - length : end]) for end, length in zip(ends, lengths, strict=True))


def generate(set_name: str, count: int, rng: Random) -> list[Problem]:
    """Distinct problems; the templates are drawn evenly, so the order carries no meaning."""
    problems: dict[str, Problem] = {}
    for _ in range(count * _TRIES_PER_PROBLEM):
        if len(problems) == count:
            return list(problems.values())
        question, answer = draw_question(set_name, rng)
        problems.setdefault(question, Problem(question, answer))
    raise UsageError(
        f"The built-in problems {set_name!r} do not have {count} different questions (about {len(problems)}). "
        "Lower evolution.max_problems or evolution.validation_problems, or take the set 'mixed'.",
        ("evolution", "max_problems"),
    )
