"""How the simulated solver reads a question that is not one of ours but says between which answers to decide.

Lettered lines ("A) Oslo"), or a sentence with "one of: positive, negative, mixed". What it takes for right it finds by simple
cue words, so it errs where these mislead; whether it says that is up to the landscape, as with our own problems. It is a
playground for own files without a key, and no claim about real models (docs/landscape.md).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from zlib import crc32

from tidepool.engine.studies.evolution.problems.problem_set import Recognised, Worked

KIND, LEVEL = "logic", 3
"""as the landscape has them"""

GOOD = tuple(
    "beautiful best bright charming clean clever comfortable delicious delight easy elegant excellent fair fine friendly fun funny good "
    "great handy happy impressed joy like love nice perfect pleasant plenty powerful pretty quick quiet recommend reliable rich sharp "
    "smooth solid spotless strong sturdy superb thank warm well wonderful".split()
)
BAD = tuple(
    "annoying awful bad badly bitter boring broke broken closed cold confusing crash crowded dangerous delay died dirty disappoint disgrace "
    "drag error expensive fail fell flicker hate heavy hurt jam late leaked lost loud noisy overpriced pain peeled pity poor refund refus "
    "rude sags scratch slippery soaks stale terrible thin torn ugly unfair useless waste weak worse worst wrong".split()
)
MOODS: Mapping[str, str] = {
    **dict.fromkeys(("positive", "good", "happy", "favourable", "pos"), "good"),
    **dict.fromkeys(("negative", "bad", "unhappy", "unfavourable", "neg"), "bad"),
    **dict.fromkeys(("mixed", "neutral", "both", "neither"), "both"),
}
"""labels that are moods → which cue words speak for them"""

_LETTERED = re.compile(r"^\(?([A-Z])[).:] +(\S.*)$", re.MULTILINE)
_LISTED = re.compile(r"\bone of(?: these| the labels)?:? +([^.?!\n]+)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_STEM = 5
"""letters by which words are taken to be the same"""


@lru_cache(maxsize=16384)
def read_options(question: str) -> Recognised | None:
    """None where the question does not say between which answers to decide."""
    lettered = _LETTERED.findall(question)
    if len(lettered) > 1:
        text = question[: question.index(lettered[0][1])]
        options = dict(lettered)
    elif listed := _LISTED.findall(question):
        text = question.rpartition(listed[-1])[0]
        names = (name.strip("\"'“”` ") for name in re.split(r"\s*(?:,|/|\bor\b)\s*", listed[-1]))
        options = {name: name for name in names if name}
    else:
        return None
    if len(options) < 2:
        return None
    answer = _likeliest(text, options)
    others = tuple(name for name in options if name != answer)
    return Recognised(KIND, LEVEL, Worked(answer, "I weigh the words that speak for each of them.", others))


def _likeliest(text: str, options: Mapping[str, str]) -> str:
    if mood := _mood(text, [words.strip().lower() for words in options.values()]):
        return next(name for name, words in options.items() if words.strip().lower() == mood)
    heard = {word[:_STEM] for word in map(str.lower, _WORD.findall(text))}
    shared = {
        name: len({word[:_STEM] for word in _WORD.findall(words.lower())} & heard) for name, words in options.items()
    }
    best = [name for name in shared if shared[name] == max(shared.values())]
    return best[crc32(text.encode("utf-8", "replace")) % len(best)]


def _mood(text: str, options: Sequence[str]) -> str | None:
    """The option for the mood of the text; None where the options are no moods."""
    by_mood = {MOODS[option]: option for option in options if option in MOODS}
    if not {"good", "bad"} <= by_mood.keys():
        return None
    words = [word.lower() for word in _WORD.findall(text)]
    good, bad = (sum(word.startswith(cues) for word in words) for cues in (GOOD, BAD))
    if good and bad and "both" in by_mood:
        return by_mood["both"]
    return by_mood["good" if good > bad else "bad"] if good != bad else by_mood.get("both", by_mood["good"])
