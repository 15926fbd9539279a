"""The simulated judge of replies: a short expected answer must be the reply's, of a longer one it counts the words that come back.

It errs a little, as judges do, and now and then forgets to give a rating.
"""

import re
from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.dice import Dice
from tidepool.engine.simulated.mutation.phrasing import FUNCTION_WORDS, words_of
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.studies.evolution.tasks.judge import JUDGE, SCALE
from tidepool.engine.studies.evolution.tasks.task import match

_PART = r"<{0}>\n(?P<{0}>.*?)\n</{0}>"
_ASKED = re.compile(
    rf"{_PART.format('question')}\n(?:{_PART.format('expected')}\n)?{_PART.format('reply')}\Z", re.DOTALL
)
_FORGETS, _ERRS = 0.005, 0.1
_SHORT = 3
"""words of an expected answer that a reply must give as such"""
_FULL = 25
"""different words of a reply that is complete, where nothing says what is expected"""


def recognises(system: str) -> bool:
    return system.startswith(JUDGE)


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    asked, dice = _ASKED.search(messages[-1].text), Dice(seed)
    if asked is None or dice.unit() < _FORGETS:
        return SimulatedReply("It is hard to say what this is worth.", "unrated")
    share = _share(asked["expected"], asked["reply"])
    slip = dice.pick((-1, 1)) if dice.unit() < _ERRS else 0
    rating = min(SCALE[1], max(SCALE[0], round(SCALE[1] * share) + slip))
    reason = "It says what is expected." if share > 0.8 else "Something of what is expected is missing."
    return SimulatedReply(f"{reason}\nRating: {rating:g}", f"{share:.2f}")


def _share(expected: str | None, reply: str) -> float:
    said = set(words_of(reply)) - FUNCTION_WORDS
    if not expected:
        return min(1.0, len(said) / _FULL)
    if len(expected.split()) <= _SHORT:
        return float(match(reply, expected).correct)
    wanted = set(words_of(expected)) - FUNCTION_WORDS
    return len(wanted & said) / len(wanted) if wanted else 0.0
