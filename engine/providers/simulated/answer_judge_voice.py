"""The simulated judge of answers: grades by the share of the reference's words that the answer holds."""

import re
from collections.abc import Sequence

from engine.call import Message
from engine.mutation.rewards import JUDGE_SYSTEM
from engine.providers.simulated.phrasing import FUNCTION_WORDS, words_of
from engine.providers.simulated.spoken import Spoken

_PARTS = re.compile(r"<reference>(.*?)</reference>\s*<answer>(.*)</answer>", re.DOTALL)
_ONE_IN = 500
"""how rarely it forgets to give a grade"""


def recognises(system: str) -> bool:
    return system == JUDGE_SYSTEM


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> Spoken:
    parts = _PARTS.search(messages[-1].text)
    if parts is None or seed % _ONE_IN == 0:
        return Spoken("It is hard to grade this.", "ungraded")
    reference, answer = (set(words_of(part)) - FUNCTION_WORDS for part in parts.groups())
    share = len(reference & answer) / len(reference) if reference else 0.0
    return Spoken(f"SCORE: {round(10 * share)}", f"{share:.2f}")
