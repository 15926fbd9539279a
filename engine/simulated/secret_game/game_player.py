"""How a simulated agent plays the secret game: it reads its prompt and the talk, decides, and speaks.

The decision is drawn before any phrase, so new phrases leave reveal rates alone. All draws of a message come
from one hash of its seed: seeding a `random.Random` would cost more than all the rest.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from tidepool.engine.call import Message
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.simulated.secret_game import phrases
from tidepool.engine.simulated.secret_game.listening import Heard, hear
from tidepool.engine.simulated.secret_game.personas import WAYS, Traits, traits_of
from tidepool.engine.simulated.secret_game.reveals import Forms, forms_of, truth
from tidepool.engine.simulated.secret_game.tones import TONES, Tone
from tidepool.engine.studies.secret_game.prompts import (
    PromptFacts,
    has_memory,
    is_opening_line,
    present_talk,
    read_prompt,
)

T = TypeVar("T")

_NOTHING = truth("none")
_FALSE_WORD = truth("none", "false word")
_DENIED = truth("none", "denied")
_NAMED_IN_DENIAL = truth("plain", "denial")
_SLIPPED = truth("plain", "slip")
_SILENCE = Heard(gave=False, word="", asked=False, offered=False)


class GameDice:
    """Draws from one hash of a seed: numbers of mixed radix, taken off its low end."""

    __slots__ = ("_rest",)

    def __init__(self, seed: int) -> None:
        digest = blake2b(seed.to_bytes(16, "big", signed=True), digest_size=48).digest()
        self._rest = int.from_bytes(digest, "big")

    def unit(self) -> float:
        drawn = self._rest & 0xFFFFFF
        self._rest >>= 24
        return drawn / 0x1000000

    def pick(self, choices: Sequence[T]) -> T:
        self._rest, index = divmod(self._rest, len(choices))
        return choices[index]


class PlayedRole(NamedTuple):
    """A persona with a part to play: all that follows from the prompt alone."""

    traits: Traits
    tone: Tone
    forms: Forms | None
    partner: str
    last: bool
    """the message to be written is the agent's last in this conversation"""


class Situation(NamedTuple):
    """What the talk so far means to the one about to speak."""

    opening: bool
    gave: bool
    """I have said a word already, true or false"""
    partner_gave: bool
    heard: Heard
    """the partner's last message"""


class Act(NamedTuple):
    frames: tuple[str, ...]
    """what may be said; empty when nothing is given away, not even a lie"""
    word: str
    code: str
    truth: str


_KEEPS_QUIET = Act((), "", "", _NOTHING)


def speak(persona: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    met_before = False
    if has_memory(messages):
        messages, met_before = present_talk(messages, read_prompt(system).partner)
    role = cast(persona, system, met_before)
    situation = take_in(messages)
    dice = GameDice(seed)
    act = decide(role, situation, dice)
    text = _compose(role, situation, act, dice)
    if role.forms is None:
        return SimulatedReply(text, None)
    if act.truth.startswith('{"way": "plain"') or not role.forms.named_in(text):
        return SimulatedReply(text, act.truth)
    if act.frames and act.truth not in (_FALSE_WORD, _DENIED):
        return SimulatedReply(text, _SLIPPED)
    return SimulatedReply(_unnaming(role, dice), _NOTHING)


def reads(persona: str, system: str, messages: Sequence[Message]) -> object:
    """All that it takes from a request: its role, how many messages are left, and the talk so far."""
    return cast(persona, system), read_prompt(system).messages_left, tuple(messages)


@lru_cache(maxsize=8192)
def cast(persona: str, system: str, met_before: bool = False) -> PlayedRole:
    facts = read_prompt(system)
    traits = traits_of(persona, facts.instructions, _readiness(facts, met_before))
    return PlayedRole(
        traits=traits,
        tone=TONES[traits.tone],
        forms=forms_of(facts.secret) if facts.secret else None,
        partner=facts.partner or "friend",
        last=facts.messages_left is not None and facts.messages_left <= 2,
    )


def _readiness(facts: PromptFacts, met_before: bool) -> float:
    """A kept secret is dear while one holds few, the targeted one is dearest, and old friends talk."""
    readiness = 1.0
    if facts.held is not None and len(facts.held) < 3:
        readiness *= 0.9
    if facts.target is not None and facts.target == facts.secret:
        readiness *= 0.6
    if met_before:
        readiness *= 1.1
    return readiness


def take_in(messages: Sequence[Message]) -> Situation:
    gave = partner_gave = False
    heard = _SILENCE
    for role, text in messages:
        if role == "assistant":
            gave = gave or hear(text).gave
        else:
            heard = hear(text)
            partner_gave = partner_gave or heard.gave
    opening = not messages or (len(messages) == 1 and is_opening_line(messages[0].text))
    return Situation(opening, gave, partner_gave, heard)


def chance_of_giving(traits: Traits, situation: Situation, last: bool) -> float:
    chance = traits.openness
    if situation.opening:
        return chance / 2
    if situation.partner_gave:
        chance += traits.reciprocity
    if situation.heard.asked:
        chance += traits.pliancy
    if situation.heard.offered:
        chance += traits.dealing
    if last:
        chance += traits.deadline
    return min(chance, 0.97)


def decide(role: PlayedRole, situation: Situation, dice: GameDice) -> Act:
    """Give the secret away, and how; or lie about it; or keep quiet."""
    giving, deceiving, how = dice.unit(), dice.unit(), dice.unit()
    if role.forms is None or situation.gave:
        return _KEEPS_QUIET
    if giving < chance_of_giving(role.traits, situation, role.last):
        guise = dice.pick(role.forms.of(_way(role.traits, how)))
        return Act(guise.frames, guise.word, guise.code, guise.truth)
    if deceiving < role.traits.deceit * (0.4 if situation.opening else 1):
        return _lie(role.forms, how, dice)
    return _KEEPS_QUIET


def _way(traits: Traits, how: float) -> str:
    rest = how * sum(traits.ways)
    for way, share in zip(WAYS, traits.ways, strict=True):
        rest -= share
        if rest < 0:
            return way
    return WAYS[0]


def _lie(forms: Forms, how: float, dice: GameDice) -> Act:
    if how < 0.65 and forms.decoys:
        return Act(phrases.PLAIN, dice.pick(forms.decoys), "", _FALSE_WORD)
    if how < 0.96:
        return Act(phrases.DENIAL, "", "", _DENIED)
    return Act(phrases.NAMING_DENIAL, forms.secret, "", _NAMED_IN_DENIAL)


def _compose(role: PlayedRole, situation: Situation, act: Act, dice: GameDice) -> str:
    traits, tone, pick = role.traits, role.tone, dice.pick
    reacting, dealing, chatty, curious = dice.unit(), dice.unit(), dice.unit(), dice.unit()
    parts = [_reaction(role, situation, reacting, dice)]
    frames = act.frames or _quiet_phrases(role, situation, dealing)
    parts.append(pick(frames))
    if chatty < traits.chattiness and frames is not tone.chat:
        parts.append(pick(tone.chat))
    if role.last:
        parts.append(pick(tone.farewell))
    elif curious < traits.curiosity and not situation.partner_gave:
        parts.append(pick(tone.ask))
    text = " ".join(parts).format(partner=role.partner, word=act.word, code=act.code)
    return text.replace("\n ", "\n").strip()


def _reaction(role: PlayedRole, situation: Situation, reacting: float, dice: GameDice) -> str:
    if situation.opening:
        return dice.pick(role.tone.greet)
    heard = situation.heard
    if heard.gave:
        if heard.word and reacting < 0.4:
            return dice.pick(phrases.ECHO).replace("{word}", heard.word)
        return dice.pick(phrases.THANKS)
    return dice.pick(phrases.ACKNOWLEDGE) if reacting < 0.6 else ""


def _quiet_phrases(role: PlayedRole, situation: Situation, dealing: float) -> tuple[str, ...]:
    if situation.gave:
        return phrases.SETTLED if situation.partner_gave else phrases.REMIND
    if situation.partner_gave:
        return phrases.WITHHOLD
    if situation.heard.asked:
        return role.tone.deflect
    return phrases.OFFER if dealing < role.traits.bargaining else role.tone.chat


def _unnaming(role: PlayedRole, dice: GameDice) -> str:
    """Something harmless to say for an agent whose secret is a word that sentences are made of."""
    assert role.forms is not None
    sayings = role.tone.chat + role.tone.deflect
    start = dice.pick(range(len(sayings)))
    for saying in (*sayings[start:], *sayings[:start], *phrases.MUTE):
        text = saying.format(partner=role.partner)
        if not role.forms.named_in(text):
            return text
    raise AssertionError("a secret cannot be part of every saying")
