"""String tasks: what models that see tokens, not letters, find hard. Answers are words, letters or counts."""

from random import Random

from tidepool.engine.studies.evolution.problems.builtin.template import Template, Values, Worked, pick

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


def _reversed(values: Values) -> Worked:
    word = values["word"]
    answer = word[::-1]
    slips = (answer[0] + answer[2] + answer[1] + answer[3:], answer[:-1], answer + answer[-1])
    mistakes = tuple(slip for slip in slips if slip != answer)
    return Worked(answer, f"The word is spelled {_spelled(word)}. Read it from the end.", mistakes)


def _counted(values: Values) -> Worked:
    count = values["words"].count(values["letter"])
    return Worked(str(count), f"Go through {values['words']} and mark every {values['letter']}.")


def _last_letters(values: Values) -> Worked:
    words = values["words"].split(", ")
    answer = "".join(word[-1] for word in words)
    firsts = "".join(word[0] for word in words)
    mistakes = tuple(slip for slip in (firsts, answer[:-1], answer + answer[0]) if slip != answer)
    return Worked(answer, f"Take the ending of each: {', '.join(words)}.", mistakes)


def _at_place(values: Values) -> Worked:
    word = values["word"]
    index = next(number for number, name in _PLACES.items() if name == values["place"]) - 1
    answer = word[index]
    mistakes = tuple(dict.fromkeys(letter for letter in word if letter != answer))
    return Worked(answer, f"The word is spelled {_spelled(word)}.", mistakes)


def _in_order(values: Values) -> Worked:
    words = values["words"].split(", ")
    answer = min(words)
    return Worked(answer, f"Compare the first letters of {', '.join(words)}.", tuple(w for w in words if w != answer))


TEMPLATES = (
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
