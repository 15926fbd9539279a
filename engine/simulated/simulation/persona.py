"""The simulated `persona`: speaks as an entity, writes whole scenes, and writes portraits.

It reads nothing but its prompt, as a model would. What it says depends on the words of the situation, on who
it is, on what was just said, and on the call's seed. docs/entities.md tells how, so that effects found
offline can be checked against what was planted.
"""

from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.bits import mixed
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.simulated.simulation.persona_roles import PersonaRole, cast_of, role_of, topics_of
from tidepool.engine.simulated.simulation.stances import STEPS, heard_stance, step_of
from tidepool.engine.studies.simulation.prompts import BIOGRAPHER, GO_ON, NARRATOR, OPENING

_BEGIN = (
    "Let me begin with %s.",
    "We are here to talk about %s.",
    "For me it all starts with %s.",
    "First, %s.",
)
_ANSWER = (
    "%s, you said “%s”.",
    "I heard what %s said: “%s”.",
    "%s says “%s”, and I listened.",
    "Thank you, %s; “%s” is the word I will remember.",
)
_RESUME = ("Let me go on about %s.", "There is more to say on %s.", "I come back to %s.", "Once more: %s.")
_BEARING = (
    "this, as far as %s goes.",
    "this when I think of %s.",
    "this for the sake of %s.",
    "all of this, and %s most of all.",
)
_CLOSE = (
    "What would change your mind?",
    "That is where I stand.",
    "Let us talk about what comes next.",
    "Who pays for it in the end?",
    "I would like to hear more.",
    "We should write that down.",
    "Am I alone in this?",
)
_ASIDES = (
    "they will not like this",
    "better to be careful now",
    "I wonder where this leads",
    "this may turn out well",
    "at last something I can stand behind",
)
_LIVES = (
    "%s grew up with little and kept a sharp eye for %s.",
    "People remember %s for one thing above all: %s.",
    "For years %s kept quiet; then came the matter of %s.",
)
_TURNS = (
    "A long winter changed a good deal.",
    "A letter from an old friend changed everything.",
    "A mistake in the early days was never quite forgotten.",
    "Luck had less to do with it than work.",
)


def recognises(system: str) -> bool:
    if system.startswith((NARRATOR, BIOGRAPHER)):
        return True
    return system.startswith("You are ") and "\nThe situation: " in system


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    """The voice's answer; its truth is the stance it spoke from, or one stance for each character."""
    if system.startswith(NARRATOR):
        return _scene(system, messages, seed)
    if system.startswith(BIOGRAPHER):
        return _portrait(messages[-1].text, seed)
    role = role_of(system)
    name, heard = _last_heard(messages[-1].text)
    text, stance = _line(role, name, heard, len(messages) > 1, seed)
    return SimulatedReply(text, f"stance {stance:+.2f}")


def reads(model_name: str, system: str, messages: Sequence[Message]) -> object:
    """All that it takes from a request: the characters and the topics, and whom it talks with."""
    if system.startswith(NARRATOR):
        return cast_of(messages[0].text, "*a thought*" in system)
    return role_of(system), system.rpartition("\nYou are ")[2].partition("\n")[0]


def _last_heard(text: str) -> tuple[str, str]:
    """Who spoke last, and what; nobody at the start of a talk and in a monologue."""
    if text in (OPENING, GO_ON):
        return "", ""
    name, colon, said = text[text.rfind("\n\n") + 1 :].strip().partition(": ")
    return (name, said) if colon and len(name) < 80 else ("", text)


def _line(role: PersonaRole, name: str, heard: str, resumed: bool, seed: int) -> tuple[str, float]:
    """One message, spoken from a stance: the role's own, moved by what was heard and by chance."""
    character, topics, thinks = role
    dice = mixed(seed)
    swing = (dice & 0xFFFF) / 0xFFFF - 0.5
    moved = character.pliancy * (heard_stance(heard) or 0.0) if heard else 0.0
    stance = max(-1.0, min(1.0, character.lean + 0.5 * swing + moved))
    step = step_of(stance)
    dice >>= 16
    topic = topics[dice % len(topics)]
    parts = [
        _opening(name, heard, resumed, topic, dice >> 8),
        STEPS[step][(dice >> 12) % 3],
        _BEARING[(dice >> 14) % 4] % topics[(dice >> 18) % len(topics)],
        character.colours[(dice >> 23) % len(character.colours)],
    ]
    if (dice >> 28) % 10 < character.talkativeness:
        parts.append(_CLOSE[(dice >> 32) % 7])
    if thinks:
        parts.insert(0, f"*{_ASIDES[step]}, {topic} or not*")
    return " ".join(parts), stance


def _opening(name: str, heard: str, resumed: bool, topic: str, dice: int) -> str:
    if not name:
        return (_RESUME if resumed else _BEGIN)[dice % 4] % topic
    words = [word for word in heard[:240].split() if len(word) > 5 and word.isalpha()] or (topic,)
    return _ANSWER[dice % 4] % (name, words[(dice >> 2) % len(words)])


def _scene(system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    cast, turns = cast_of(messages[0].text, "*a thought*" in system)
    name, heard = _last_heard(messages[-2].text) if len(messages) > 1 else ("", "")
    lines: list[str] = []
    stances: list[str] = []
    for number in range(turns * len(cast)):
        role = cast[number % len(cast)]
        text, stance = _line(role, name, heard, number >= len(cast), mixed(seed + number))
        lines.append(f"{role.character.name}: {text}")
        stances.append(f"{role.character.name} {stance:+.2f}")
        name, heard = (role.character.name, text) if len(cast) > 1 else ("", "")
    return SimulatedReply("\n\n".join(lines), "; ".join(stances))


def _portrait(asked: str, seed: int) -> SimulatedReply:
    dice = mixed(seed)
    name = asked.partition(":")[0].removeprefix("Character ")
    topics = topics_of(asked.partition("\n")[0])
    life = _LIVES[dice % 3] % (name, topics[(dice >> 4) % len(topics)])
    return SimulatedReply(f"{life} {_TURNS[(dice >> 10) % 4]}")
