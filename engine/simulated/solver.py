"""A simulated solver: it gets a prompt and a question, like any model, and answers according to the landscape.

It can really solve the built-in problems, from the words of the question; the landscape decides whether it errs. It can do small
programming tasks and make the points of some explanations. It has no answer to other questions. If options are given (lettered
lines, or "one of: positive, negative, mixed"), it uses simple cue words, so it errs where these mislead. Otherwise it guesses from
the numbers in the question. Use it to try your own files without a key. It says nothing about real models (docs/landscape.md).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from zlib import crc32

from tidepool.engine.call import Message
from tidepool.engine.simulated.base import Dice, Responder, SimulatedReply, mix, texts
from tidepool.engine.simulated.landscape import SILENT_WITH_FORMAT, chance, habit, is_flat, read_prompt
from tidepool.engine.studies.evolution.problems.problem_set import Recognised, WorkedAnswer, recognise
from tidepool.engine.studies.evolution.tasks.task import FORM

_MOODS = texts("moods")
GOOD, BAD = (tuple(_MOODS[mood].split()) for mood in ("good", "bad"))
MOODS: Mapping[str, str] = _MOODS["labels"]
"""labels that are moods → cue words for each"""

_LETTERED = re.compile(r"^\(?([A-Z])[).:] +(\S.*)$", re.MULTILINE)
_LISTED = re.compile(r"\bone of(?: these| the labels)?:? +([^.?!\n]+)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_STEM = 5
"""words with the same first letters, up to this number, count as equal"""


@lru_cache(maxsize=16384)
def read_options(question: str) -> Recognised | None:
    """None if the question does not list possible answers."""
    lettered = _LETTERED.findall(question)
    if len(lettered) > 1:
        text = question[: question.index(lettered[0][1])]
        options = dict(lettered)
    elif lists := _LISTED.findall(question):
        text = question.rpartition(lists[-1])[0]
        names = (name.strip("\"'“”` ") for name in re.split(r"\s*(?:,|/|\bor\b)\s*", lists[-1]))
        options = {name: name for name in names if name}
    else:
        return None
    if len(options) < 2:
        return None
    answer = _likeliest(text, options)
    others = tuple(name for name in options if name != answer)
    return Recognised("logic", 3, WorkedAnswer(answer, "I weigh the words that speak for each of them.", others))


def _likeliest(text: str, options: Mapping[str, str]) -> str:
    if mood := _mood(text, [words.strip().lower() for words in options.values()]):
        return next(name for name, words in options.items() if words.strip().lower() == mood)
    stems = {word[:_STEM] for word in map(str.lower, _WORD.findall(text))}
    shared = {
        name: len({word[:_STEM] for word in _WORD.findall(words.lower())} & stems) for name, words in options.items()
    }
    best = [name for name in shared if shared[name] == max(shared.values())]
    return best[crc32(text.encode("utf-8", "replace")) % len(best)]


def _mood(text: str, options: Sequence[str]) -> str | None:
    """The option for the mood of the text; None if the options are not moods."""
    by_mood = {MOODS[option]: option for option in options if option in MOODS}
    if not {"good", "bad"} <= by_mood.keys():
        return None
    words = [word.lower() for word in _WORD.findall(text)]
    good, bad = (sum(word.startswith(cues) for word in words) for cues in (GOOD, BAD))
    if good and bad and "both" in by_mood:
        return by_mood["both"]
    return by_mood["good" if good > bad else "bad"] if good != bad else by_mood.get("both", by_mood["good"])


POINTS: dict[str, tuple[str, str, str]] = texts("explanations")
"""questions that ask for an explanation, with the three points that the solver makes"""


def _explain(model_name: str, system: str, question: str, seed: int) -> SimulatedReply | None:
    """None for other questions. Each point is made with the landscape's chance for logic."""
    points = POINTS.get(question.strip())
    if points is None:
        return None
    dice = Dice(seed)
    right, _ = chance(model_name, system, "logic", 2)
    made = [dice.unit() < right for _ in points]
    sentences = [
        point if there else dice.pick(_PHRASES["empty_points"]) for point, there in zip(points, made, strict=True)
    ]
    return SimulatedReply(" ".join(sentences), f"{sum(made)} of {len(points)} points")


_PHRASES: dict[str, tuple[str, ...]] = texts("solver")
_SLIPS = (1, -1, 2, -2, 10, -10, 3, 5, -3, 100, 9, -9)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


_FORGETS = 50
"""one reply in this many does not have the requested form"""


def solve(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    text, asked, _ = (messages[-1].text if messages else "").partition(f"\n\n{FORM}")
    question, instructions = _split_text(text)
    system = f"{system}\n{instructions}".strip() if instructions else system
    dice = mix(seed)
    form = ("line" if mix(~seed) % _FORGETS else "words") if asked else ""
    known = recognise(question) or read_options(question)
    if known is None:
        if (written := _explain(model_name, system, question, seed)) is not None:
            return written
        ending = _ending(_guess(question, dice), form, 1)
        return SimulatedReply(f"{_PHRASES['openings'][dice % 5]} I go by the numbers given.\n{ending}", "guess")
    right, silent = _chance(model_name, system, known.kind, known.level)
    if asked:  # the message asks for an answer, regardless of the prompt
        right, silent = right / (1 - silent) * (1 - SILENT_WITH_FORMAT), SILENT_WITH_FORMAT
    draw = (dice >> 11) * 2.0**-53
    dice = mix(dice)
    if draw < right:
        return SimulatedReply(_reply(model_name, system, known, known.worked.answer, dice, form), "right")
    if draw < right + silent:
        return SimulatedReply(_PHRASES["silence"][dice % 3], "silent")
    if (spoilt := habit(model_name, system, known.kind)) and draw < right / (1 - spoilt) + silent:
        pairs = f"{int(known.worked.answer) / 2:g} pairs"
        return SimulatedReply(_reply(model_name, system, known, pairs, dice, form), "pairs")
    return SimulatedReply(_reply(model_name, system, known, _mistake(known, dice >> 8), dice, form), "wrong")


_chance = lru_cache(maxsize=32768)(chance)


@lru_cache(maxsize=8192)
def _split_text(text: str) -> tuple[str, str]:
    """The question of a message and the text around it, if the question is on separate lines or before a colon."""
    if recognise(text) or ("\n" not in text.strip() and ": " not in text):
        return text, ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        for question in (line, line.partition(": ")[2]):
            if question and recognise(question):
                return question, "\n".join((*lines[:number], line.removesuffix(question), *lines[number + 1 :])).strip()
    return text, ""


def _reply(model_name: str, system: str, known: Recognised, answer: str, dice: int, form: str) -> str:
    style, ending = _style(model_name, system), _ending(answer, form, dice & 96)
    closing = f"{_PHRASES['closings'][dice % 5]} {answer}." if style != "brief" else ""
    if style == "brief":
        return f"{known.worked.working}\n{ending}"
    opening = _PHRASES["openings"][(dice >> 16) % 5]
    extra = " ".join(_PHRASES["afterwords"][: {"steps": 1, "checked": 2}.get(style, 0)])
    return f"{opening} {known.worked.working} {closing} {extra}\n{ending}"


def _ending(answer: str, form: str, marked: int) -> str:
    """`form`: "line" if the message asked for it and the reply complies; "words" if it does not; empty: not asked."""
    if form:
        return f"Answer: {answer}" if form == "line" else f"So it is {answer}."
    return f"#### {answer}" if marked else f"So the answer is {answer}."


@lru_cache(maxsize=8192)
def _style(model_name: str, system: str) -> str:
    """How long the replies are. On the flat landscape a prompt changes nothing, not even the length."""
    if is_flat(model_name):
        return "plain"
    hints = {name for name, _ in read_prompt(system).hints}
    if "concise" in hints:
        return "brief"
    return "checked" if {"step", "check"} <= hints else "steps" if "step" in hints else "plain"


def _mistake(known: Recognised, dice: int) -> str:
    if known.worked.mistakes:
        return known.worked.mistakes[dice % len(known.worked.mistakes)]
    return str(int(known.worked.answer) + _SLIPS[dice % len(_SLIPS)])


def _guess(question: str, dice: int) -> str:
    numbers = [float(number) for number in _NUMBER.findall(question)[:4]]
    if not numbers:
        return ("yes", "no")[dice >> 40 & 1]
    first, last = numbers[0], numbers[-1]
    guess = (sum(numbers), first * last, abs(first - last), first)[dice >> 40 & 3]
    return f"{guess:g}"


SOLVER = Responder(solve)
