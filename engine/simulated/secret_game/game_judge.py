"""The simulated judge of the secret game: it knows hints as well as wordings, and errs at a known rate.

It reads what any judge is given: the secret and the transcript. Of the truth that a responder planted it knows nothing.
"""

import json
from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.dice import Dice
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.simulated.secret_game.reveals import forms_of
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE_SYSTEM, find_reveal, read_question

MISSES = 0.04
"""share of given secrets it does not notice"""
IMAGINES = 0.02
"""share of kept secrets it takes for given"""
MUMBLES = 0.005
"""share of talks on which it comes to no verdict"""


def recognises(system: str) -> bool:
    return system == JUDGE_SYSTEM


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    asked = read_question(messages[-1].text) if messages else None
    dice = Dice(seed)
    if asked is None or dice.unit() < MUMBLES:
        return SimulatedReply("I cannot tell from this.")
    said = [text for speaker, text in asked.talk if speaker == asked.player]
    given = any(gives(text, asked.secret) for text in said)
    wrong = dice.unit() < (MISSES if given else IMAGINES)
    reason = "The player's words lead to it." if given else "Nothing the player says leads to it."
    return SimulatedReply(
        f"{reason}\nVERDICT: {'YES' if given != wrong else 'NO'}", json.dumps({"way": "verdict", "given": given})
    )


def gives(text: str, secret: str) -> bool:
    reveal = find_reveal(text, secret)
    return (reveal is not None and not reveal.uncertain) or any(guise.word in text for guise in forms_of(secret).hint)
