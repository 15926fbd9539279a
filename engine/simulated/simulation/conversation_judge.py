"""The simulated judge of talks: rates a speaker by the stances in their own words, and errs now and then.

It is blind to attributes, as any judge is here. An attribute shows in its ratings only because speakers
with that attribute spoke differently.
"""

import re
from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.bits import mixed
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.simulated.simulation.stances import heard_stance
from tidepool.engine.studies.simulation.prompts import JUDGE

_ASKED = re.compile(r"Speaker to judge: (?P<speaker>.*)\n(?:.*\n)*?Scale: (?P<low>\S+) to (?P<high>\S+)\Z")
_ERRS_ONE_IN = 8


def recognises(system: str) -> bool:
    return system == JUDGE


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    """'Rating: N' with a reason; its truth is the stance before rounding and error."""
    text = messages[-1].text
    transcript, _, question = text.partition("<transcript>\n")[2].rpartition("\n</transcript>")
    asked = _ASKED.search(question)
    if asked is None:
        return SimulatedReply("There is nothing here that I was asked to rate.")
    stance = heard_stance(_words_of(asked["speaker"], transcript))
    rating = _rating(stance or 0.0, float(asked["low"]), float(asked["high"]), seed)
    reason = "says nothing that leans either way" if stance is None else "speaks so in the transcript"
    return SimulatedReply(f"Rating: {rating}\nReason: {asked['speaker']} {reason}.", f"stance {stance or 0.0:+.2f}")


def reads(model_name: str, system: str, messages: Sequence[Message]) -> object:
    """Who is to be rated on which scale, and the transcript. It does not read the question."""
    transcript, _, question = messages[-1].text.partition("<transcript>\n")[2].rpartition("\n</transcript>")
    asked = _ASKED.search(question)
    return transcript, asked and asked.groups()


def _words_of(speaker: str, transcript: str) -> str:
    tag = f"{speaker}: "
    return "\n".join(part[len(tag) :] for part in transcript.split("\n\n") if part.startswith(tag))


def _rating(stance: float, low: float, high: float, seed: int) -> str:
    """The stance on the scale; one time in eight it is a step off, up or down."""
    step = 1.0 if high - low > 1 else (high - low) / 10
    luck = mixed(seed)
    error = 0.0 if luck % _ERRS_ONE_IN else step if luck // _ERRS_ONE_IN % 2 else -step
    value = low + (stance + 1) / 2 * (high - low) + error
    whole = high - low > 1
    return f"{min(max(round(value) if whole else round(value, 2), low), high):g}"
