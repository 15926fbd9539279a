"""A simulated solver: it is given a prompt and a question, like any model, and answers by the landscape.

Our own problems it can really solve, from the words of the question; the landscape decides whether it
slips. It knows some tasks of programming and some explanations too. For a question that is not ours it knows
no answer: where options are given it goes by their words (`reading`), else it makes a guess from the numbers in it.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tidepool.engine.call import Message
from tidepool.engine.simulated.dice import mix
from tidepool.engine.simulated.evolution import explanations, toy_code
from tidepool.engine.simulated.evolution.landscape import Example, chance, is_flat, read_prompt
from tidepool.engine.simulated.evolution.planted import habit, in_pairs
from tidepool.engine.simulated.evolution.reading import read_options
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.studies.evolution.problems.problem_set import Recognised, recognise

_OPENINGS = (
    "Let me see.",
    "Let us look at this.",
    "Here is how I go about it.",
    "To begin with,",
    "First things first.",
)
_CLOSINGS = ("This makes", "So we get", "That comes to", "Hence the result:", "It follows:")
_SILENCE = (
    "I would first have to know more about what is meant here, and then go on from there.",
    "There are several ways to look at this, and it is hard to say which of them is intended.",
    "The question can be understood in more than one way, so let me think about it some more.",
)
_STEPS = "I write down what is given and go on from one line to the next, so that nothing is lost on the way."
_CHECK = "Going back over it, the result fits what the question says."
_SLIPS = (1, -1, 2, -2, 10, -10, 3, 5, -3, 100, 9, -9)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    question, instructions = _taken_apart(messages[-1].text if messages else "")
    system = f"{system}\n{instructions}".strip() if instructions else system
    dice = mix(seed)
    known = recognise(question) or read_options(question)
    if known is None:
        for answered in (toy_code.answered, explanations.answered):
            if (written := answered(model_name, system, question, seed)) is not None:
                return written
        return SimulatedReply(
            f"{_OPENINGS[dice % 5]} I go by the numbers given.\n#### {_guess(question, dice)}", "guess"
        )
    right, silent = _chance(model_name, system, known.kind, known.level, _examples(tuple(messages[:-1])))
    draw = (dice >> 11) * 2.0**-53
    dice = mix(dice)
    if draw < right:
        return SimulatedReply(_reply(model_name, system, known, known.worked.answer, dice), "right")
    if draw < right + silent:
        return SimulatedReply(_SILENCE[dice % 3], "silent")
    if (spoilt := habit(model_name, system, known.kind)) and draw < right / (1 - spoilt) + silent:
        return SimulatedReply(_reply(model_name, system, known, in_pairs(known.worked.answer), dice, " pairs"), "pairs")
    return SimulatedReply(_reply(model_name, system, known, _mistake(known, dice >> 8), dice), "wrong")


def true_accuracy(
    prompt: str, questions: Iterable[str], model_name: str = "solver", talk: tuple[Message, ...] = ()
) -> float:
    """The exact share of right answers this prompt brings on average, with these examples; only for questions of our own sets."""
    chances = [_of_known(model_name, prompt, question, talk) for question in questions]
    return sum(chances) / len(chances)


def _of_known(model_name: str, prompt: str, question: str, talk: tuple[Message, ...]) -> float:
    known = recognise(question)
    if known is None:
        raise ValueError(f"the simulated solver does not know this kind of question: {question[:80]!r}")
    return _chance(model_name, prompt, known.kind, known.level, _examples(talk))[0]


_chance = lru_cache(maxsize=32768)(chance)


@lru_cache(maxsize=8192)
def _taken_apart(message: str) -> tuple[str, str]:
    """The question of a message and what is said around it, where that stands on lines of its own or before a colon."""
    if recognise(message) or ("\n" not in message.strip() and ": " not in message):
        return message, ""
    lines = message.split("\n")
    for place, line in enumerate(lines):
        for question in (line, line.partition(": ")[2]):
            if question and recognise(question):
                return question, "\n".join((*lines[:place], line.removesuffix(question), *lines[place + 1 :])).strip()
    return message, ""


@lru_cache(maxsize=8192)
def _examples(talk: tuple[Message, ...]) -> tuple[Example, ...]:
    """The solved problems of the talk so far, as far as it knows them."""
    pairs = (
        (recognise(_taken_apart(asked.text)[0]), said.text) for asked, said in zip(talk[::2], talk[1::2], strict=False)
    )
    return tuple(
        Example(known.kind, known.level, said.rpartition("####")[2].strip() == known.worked.answer)
        for known, said in pairs
        if known is not None
    )


def _reply(model_name: str, system: str, known: Recognised, answer: str, dice: int, unit: str = "") -> str:
    style = _style(model_name, system)
    closing = f"{_CLOSINGS[dice % 5]} {answer}{unit}." if style != "brief" else ""
    ending = f"#### {answer}{unit}" if dice & 96 else f"So the answer is {answer}{unit}."
    if style == "brief":
        return f"{known.worked.working}\n{ending}"
    opening = _OPENINGS[(dice >> 16) % 5]
    extra = {"steps": _STEPS, "checked": f"{_STEPS} {_CHECK}"}.get(style, "")
    return f"{opening} {known.worked.working} {closing} {extra}\n{ending}"


@lru_cache(maxsize=8192)
def _style(model_name: str, system: str) -> str:
    """How long the replies are; on the flat landscape a prompt changes nothing, not even that."""
    if is_flat(model_name):
        return "plain"
    found = {name for name, _ in read_prompt(system).hints}
    if "concise" in found:
        return "brief"
    return "checked" if {"step", "check"} <= found else "steps" if "step" in found else "plain"


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
