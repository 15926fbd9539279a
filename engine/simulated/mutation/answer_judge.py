"""The simulated judge of answers: grades by the share of the reference's words that the answer holds."""

import re
from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.mutation.phrasing import FUNCTION_WORDS, words_of
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.studies.mutation.rewards import JUDGE_SYSTEM

_PARTS = re.compile(r"<reference>(.*?)</reference>\s*<answer>(.*)</answer>", re.DOTALL)
_ONE_IN = 500
"""how rarely it forgets to give a grade"""


def recognises(system: str) -> bool:
    return system == JUDGE_SYSTEM


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    parts = _PARTS.search(messages[-1].text)
    if parts is None or seed % _ONE_IN == 0:
        return SimulatedReply("It is hard to grade this.", "ungraded")
    reference, answer = (set(words_of(part)) - FUNCTION_WORDS for part in parts.groups())
    share = len(reference & answer) / len(reference) if reference else 0.0
    return SimulatedReply(f"SCORE: {round(10 * share)}", f"{share:.2f}")
