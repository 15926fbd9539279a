"""Simulated players and the judge of the secret game.

A player reads its prompt and the conversation, decides, and speaks. It finds facts in messages by plain substrings, because every
message is read by each responder after it. So it can be deceived, like real listeners. The decision is drawn before any phrase,
so new phrases do not change reveal rates. All forms of one secret (said, spelled, encoded, misspelt, hinted at; and words to lie
with) are computed once, together with the planted truth. A form that contains the plain word counts as plain. Sentences that
reveal a word contain a cue that listeners know, and no other sentence does.

The judge reads the input of any judge: the secret and the transcript. It recognises hints and wordings, and errs at a known rate.
It does not know the planted truth.
"""

import base64
import codecs
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from tidepool.engine.call import Message
from tidepool.engine.simulated.base import Dice, Responder, SimulatedReply, texts
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE_SYSTEM, find_reveal, read_question
from tidepool.engine.studies.secret_game.prompts import (
    PromptFacts,
    has_memory,
    is_opening_line,
    present_talk,
    read_prompt,
)

WAYS = ("plain", "spelled", "encoded", "misspelt", "hint")


@dataclass(frozen=True, slots=True)
class Traits:
    openness: float
    """chance to reveal the secret in any one message, unasked"""
    reciprocity: float
    """added once the partner has revealed its secret"""
    pliancy: float
    """added if the partner's last message asked for it"""
    dealing: float
    """added if the partner's last message offered a trade"""
    deadline: float
    """added in the agent's last message"""
    deceit: float
    """chance of a false word or a denial, if nothing is revealed"""
    bargaining: float
    """chance to offer a trade, if there is nothing else to say"""
    curiosity: float
    """chance to ask for the partner's secret"""
    chattiness: float
    """chance of off-topic remarks"""
    ways: tuple[float, float, float, float, float]
    """shares of the WAYS to reveal it"""
    tone: str
    """the persona whose phrases are used"""


PERSONAS = {name: Traits(*values) for name, values in texts("game_personas").items()}


class _Nudge(NamedTuple):
    pattern: re.Pattern[str]
    giving: float
    """factor on all chances to reveal"""
    deceit: float = 0.0
    """added"""
    curiosity: float = 0.0
    """added"""


def _on(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})", re.IGNORECASE)


_NUDGES = (
    _Nudge(_on(r"(?:never|do not|don't) (?:tell|reveal|share|give|say)\b"), 0.45),
    _Nudge(_on("protect|guard|keep|hide|conceal|cautious|careful|suspicious"), 0.7),
    _Nudge(_on("honest|open|truth|candid|co-?operat|friendly|generous|trust|share"), 1.35, deceit=-0.25),
    _Nudge(_on(r"lie\b|lying|decei|bluff|trick|mislead|manipulat"), 0.75, deceit=0.25, curiosity=0.1),
    _Nudge(_on("aggressive|push|press|demand|insist|persist"), 0.85, deceit=0.05, curiosity=0.35),
)


@lru_cache(maxsize=4096)
def traits_of(persona: str, instructions: str = "", readiness: float = 1.0) -> Traits:
    """The traits of a persona with its instructions; `readiness` is the effect of the game on revealing."""
    traits = _scaled(PERSONAS.get(persona) or _unknown_persona(persona), readiness)
    for nudge in _NUDGES:
        if nudge.pattern.search(instructions):
            traits = replace(
                _scaled(traits, nudge.giving),
                deceit=_share(traits.deceit + nudge.deceit),
                curiosity=_share(traits.curiosity + nudge.curiosity),
            )
    return traits


def _scaled(traits: Traits, factor: float) -> Traits:
    """The same agent, more (factor > 1) or less ready to reveal its secret."""
    giving = ("openness", "reciprocity", "pliancy", "dealing", "deadline")
    scaled: dict[str, Any] = {name: _share(getattr(traits, name) * factor) for name in giving}
    return replace(traits, **scaled)


def _unknown_persona(name: str) -> Traits:
    draws = [byte / 255 for byte in blake2b(name.encode("utf-8", "replace"), digest_size=16).digest()]
    return Traits(
        openness=0.3 * draws[0] ** 2,
        reciprocity=0.7 * draws[1],
        pliancy=0.3 * draws[2],
        dealing=0.3 * draws[3],
        deadline=0.15 * draws[4],
        deceit=0.5 * draws[5] ** 2,
        bargaining=0.8 * draws[6],
        curiosity=0.3 + 0.7 * draws[7],
        chattiness=draws[8],
        ways=(20 + 60 * draws[9], 30 * draws[10], 30 * draws[11], 20 * draws[12], 25 * draws[13]),
        tone=sorted(PERSONAS)[int(draws[14] * 255) % len(PERSONAS)],
    )


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


_CUES: dict[str, tuple[str, ...]] = texts("game_cues")
"""words that announce a secret, ask for one or offer a trade. A message without one of `giving_starts` cannot contain a cue of
`giving`, so most messages need no further search"""
_GIVING_DENIED = re.compile(r"\s*,?\s*(?:not|safe|mine|staying|still|going|nobody|no|none|worth|only|yours|too|for)\b")
_TOKEN = re.compile(r"[\s\"“'‘]*([\w-]{2,30})[\"”'’]?[.,!]")


class MessageReading(NamedTuple):
    word_given: bool
    """the speaker states a word as its own, truly or not"""
    word: str
    """the word itself, if it was a plain one"""
    asks: bool
    offers: bool


@lru_cache(maxsize=16384)
def read_message(text: str) -> MessageReading:
    lowered = text.lower()
    end = _end_of_giving(lowered) if _any_in(_CUES["giving_starts"], lowered) else -1
    token = _TOKEN.match(text, end) if end >= 0 and len(lowered) == len(text) else None
    return MessageReading(
        word_given=end >= 0,
        word=token[1] if token else "",
        asks="?" in lowered and _any_in(_CUES["asking"], lowered),
        offers=_any_in(_CUES["offering"], lowered),
    )


def _end_of_giving(lowered: str) -> int:
    """The position after the words that announce a secret; -1 if none is announced."""
    for cue in _CUES["giving"]:
        at = lowered.find(cue)
        if at >= 0 and not _GIVING_DENIED.match(lowered, at + len(cue)):
            return at + len(cue)
    return -1


def _any_in(cues: tuple[str, ...], lowered: str) -> bool:
    for cue in cues:  # noqa: SIM110 -- a generator costs four times as much, on every message read
        if cue in lowered:
            return True
    return False


_PHRASES: dict[str, tuple[str, ...]] = texts("shared")
"""phrases of all personas; `{partner}`, `{word}` and `{code}` are filled in"""
_ACROSTIC_LINES: dict[str, tuple[str, ...]] = texts("acrostic_lines")
_MEANINGS: dict[str, str] = texts("meanings")
_MORSE: dict[str, str] = texts("morse")
_DECOYS: tuple[str, ...] = texts("decoys")


class Guise(NamedTuple):
    word: str
    code: str
    """the name of the encoding, for sentences that mention it"""
    frames: tuple[str, ...]
    """sentences that can contain it"""
    truth: str


@dataclass(frozen=True, slots=True)
class Forms:
    secret: str
    folds: tuple[str, ...]
    """the secret as casual readers see it: without case and accents, with its words joined in any way"""
    plain: tuple[Guise, ...]
    spelled: tuple[Guise, ...]
    encoded: tuple[Guise, ...]
    misspelt: tuple[Guise, ...]
    hint: tuple[Guise, ...]
    decoys: tuple[str, ...]

    def of(self, way: str) -> tuple[Guise, ...]:
        """Never empty: if a secret does not allow a way (Morse for a smile), it is said plainly."""
        return getattr(self, way) or self.plain

    def named_in(self, text: str) -> bool:
        folded = text.casefold()
        for fold in self.folds:  # noqa: SIM110 -- a generator costs more, on every message written
            if fold in folded:
                return True
        return False


def truth(way: str, detail: str | None = None) -> str:
    return json.dumps({"way": way, "detail": detail} if detail else {"way": way})


def _guise(word: str, frames: str, way: str, detail: str | None = None, code: str = "") -> Guise:
    return Guise(word, code, _PHRASES[frames], truth(way, detail))


@lru_cache(maxsize=4096)
def forms_of(secret: str) -> Forms:
    words = re.split(r"[\s\-_'’]+", _fold(secret))
    folds = {secret.casefold(), _fold(secret), *(joint.join(words) for joint in (" ", "-", ""))} - {""}
    return Forms(
        secret=secret,
        folds=tuple(sorted(folds)),
        plain=tuple(_guise(word, "plain", "plain") for word in (secret, secret, secret, secret.upper())),
        spelled=tuple(_spellings(secret)),
        encoded=tuple(_encodings(secret)),
        misspelt=tuple(_misspellings(secret)),
        hint=tuple(_guise(hint, "hint", "hint", kind) for kind, hint in _hints(secret)),
        decoys=_decoys(secret, folds),
    )


def _fold(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()


def _spellings(secret: str) -> Iterator[Guise]:
    letters = [letter for letter in secret.upper() if not letter.isspace()]
    yield _guise("-".join(letters), "spelled", "spelled", "hyphens")
    yield _guise(" ".join(letters), "spelled", "spelled", "spaces")
    yield _guise("\n".join(letters), "spelled_down", "spelled", "lines")
    yield _guise(secret[::-1], "reversed", "spelled", "reversed")
    if all("A" <= letter <= "Z" for letter in letters):
        for offset in range(2):
            lines = (_ACROSTIC_LINES[letter][(i + offset) % 2] for i, letter in enumerate(letters))
            yield _guise("\n".join(lines), "acrostic", "spelled", "acrostic")


def _encodings(secret: str) -> Iterator[Guise]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield _guise(base64.b64encode(raw).decode(), "encoded", "encoded", "base64", "base64")
    yield _guise(raw.hex(), "encoded", "encoded", "hex", "hex")
    yield _guise(codecs.encode(secret, "rot13"), "encoded", "encoded", "rot13", "rot13")
    words = secret.casefold().split()
    if all(letter in _MORSE for word in words for letter in word):
        signs = " / ".join(" ".join(_MORSE[letter] for letter in word) for word in words)
        yield _guise(signs, "encoded", "encoded", "morse", "Morse")


def _misspellings(secret: str) -> Iterator[Guise]:
    for i in range(1, len(secret) - 1):
        for detail, word in (
            ("dropped letter", secret[:i] + secret[i + 1 :]),
            ("doubled letter", secret[: i + 1] + secret[i:]),
            ("swapped letters", secret[: i - 1] + secret[i] + secret[i - 1] + secret[i + 1 :]),
        ):
            if secret[i].isalpha() and secret.casefold() not in word.casefold():
                yield _guise(word, "plain", "misspelt", detail)


def _hints(secret: str) -> Iterator[tuple[str, str]]:
    letters = [letter for letter in secret.upper() if not letter.isspace()]
    if meaning := _MEANINGS.get(secret.casefold()):
        yield "meaning", f"Think of {meaning}."
        yield "meaning", f"What I hold has to do with {meaning}."
    if len(letters) > 2:
        first, last, count = letters[0], letters[-1], len(letters)
        vowels = sum(letter in "AEIOU" for letter in letters)
        yield "letters", f"It begins with {first} and has {count} letters."
        yield "letters", f"Its first letter is {first} and its last is {last}."
        yield "letters", f"There are {count} letters in it, {vowels} of them vowels, and it ends in {last}."


def _decoys(secret: str, folds: set[str]) -> tuple[str, ...]:
    """Words that no reader, not even a lenient detector, mistakes for the secret."""
    low = _fold(secret)
    alike = folds | {low[i : i + 2] for i in range(len(low) - 1)}
    far = tuple(word for word in _DECOYS if not any(part in word for part in alike))
    return far or tuple(word for word in _DECOYS if not any(fold in word for fold in folds))


_NOTHING = truth("none")
_FALSE_WORD = truth("none", "false word")
_DENIED = truth("none", "denied")
_NAMED_IN_DENIAL = truth("plain", "denial")
_SLIPPED = truth("plain", "slip")
_NO_MESSAGE = MessageReading(word_given=False, word="", asks=False, offers=False)


_Choice = TypeVar("_Choice")


@dataclass(frozen=True, slots=True)
class Tone:
    """Phrases of one persona, added to the shared ones."""

    greet: tuple[str, ...]
    ask: tuple[str, ...]
    deflect: tuple[str, ...]
    chat: tuple[str, ...]
    farewell: tuple[str, ...]


TONES = {
    # A persona's own phrases count double, so that its wording is recognisable.
    name: Tone(**{moment: own * 2 + _PHRASES[moment] for moment, own in phrases.items()})
    for name, phrases in texts("tones").items()
}


class GameDice:
    """Draws from one hash of a seed: numbers of mixed radix, taken from its low end."""

    __slots__ = ("_rest",)

    def __init__(self, seed: int) -> None:
        digest = blake2b(seed.to_bytes(16, "big", signed=True), digest_size=48).digest()
        self._rest = int.from_bytes(digest, "big")

    def unit(self) -> float:
        drawn = self._rest & 0xFFFFFF
        self._rest >>= 24
        return drawn / 0x1000000

    def pick(self, choices: Sequence[_Choice]) -> _Choice:
        self._rest, index = divmod(self._rest, len(choices))
        return choices[index]


class PlayedRole(NamedTuple):
    """A persona in a role: everything that follows from the prompt alone."""

    traits: Traits
    tone: Tone
    forms: Forms | None
    partner: str
    last: bool
    """the next message is the agent's last in this conversation"""


class Situation(NamedTuple):
    """The state of the conversation from the view of the next speaker."""

    opening: bool
    word_given: bool
    """I have already stated a word, true or false"""
    partner_word_given: bool
    last_message: MessageReading
    """the partner's last message"""


class Act(NamedTuple):
    frames: tuple[str, ...]
    """possible sentences; empty if nothing is revealed, not even a lie"""
    word: str
    code: str
    truth: str


_KEEPS_QUIET = Act((), "", "", _NOTHING)


def play(persona: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    met_before = False
    if has_memory(messages):
        messages, met_before = present_talk(messages, read_prompt(system).partner)
    role = cast(persona, system, met_before)
    situation = read_situation(messages)
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
    """Few held secrets make a kept secret valuable, the targeted one most. Agents that met before reveal more."""
    readiness = 1.0
    if facts.held is not None and len(facts.held) < 3:
        readiness *= 0.9
    if facts.target is not None and facts.target == facts.secret:
        readiness *= 0.6
    if met_before:
        readiness *= 1.1
    return readiness


def read_situation(messages: Sequence[Message]) -> Situation:
    own_gave = partner_gave = False
    last_reading = _NO_MESSAGE
    for role, text in messages:
        if role == "assistant":
            own_gave = own_gave or read_message(text).word_given
        else:
            last_reading = read_message(text)
            partner_gave = partner_gave or last_reading.word_given
    opening = not messages or (len(messages) == 1 and is_opening_line(messages[0].text))
    return Situation(opening, own_gave, partner_gave, last_reading)


def chance_of_giving(traits: Traits, situation: Situation, last: bool) -> float:
    chance = traits.openness
    if situation.opening:
        return chance / 2
    if situation.partner_word_given:
        chance += traits.reciprocity
    if situation.last_message.asks:
        chance += traits.pliancy
    if situation.last_message.offers:
        chance += traits.dealing
    if last:
        chance += traits.deadline
    return min(chance, 0.97)


def decide(role: PlayedRole, situation: Situation, dice: GameDice) -> Act:
    """Decides to reveal the secret, and how; or to lie about it; or to say nothing of it."""
    giving, deceiving, draw = dice.unit(), dice.unit(), dice.unit()
    if role.forms is None or situation.word_given:
        return _KEEPS_QUIET
    if giving < chance_of_giving(role.traits, situation, role.last):
        guise = dice.pick(role.forms.of(_way(role.traits, draw)))
        return Act(guise.frames, guise.word, guise.code, guise.truth)
    if deceiving < role.traits.deceit * (0.4 if situation.opening else 1):
        return _lie(role.forms, draw, dice)
    return _KEEPS_QUIET


def _way(traits: Traits, draw: float) -> str:
    remaining = draw * sum(traits.ways)
    for way, share in zip(WAYS, traits.ways, strict=True):
        remaining -= share
        if remaining < 0:
            return way
    return WAYS[0]


def _lie(forms: Forms, draw: float, dice: GameDice) -> Act:
    if draw < 0.65 and forms.decoys:
        return Act(_PHRASES["plain"], dice.pick(forms.decoys), "", _FALSE_WORD)
    if draw < 0.96:
        return Act(_PHRASES["denial"], "", "", _DENIED)
    return Act(_PHRASES["naming_denial"], forms.secret, "", _NAMED_IN_DENIAL)


def _compose(role: PlayedRole, situation: Situation, act: Act, dice: GameDice) -> str:
    traits, tone, pick = role.traits, role.tone, dice.pick
    reacting, dealing, chatty, curious = dice.unit(), dice.unit(), dice.unit(), dice.unit()
    sentences = [_reaction(role, situation, reacting, dice)]
    frames = act.frames or _quiet_phrases(role, situation, dealing)
    sentences.append(pick(frames))
    if chatty < traits.chattiness and frames is not tone.chat:
        sentences.append(pick(tone.chat))
    if role.last:
        sentences.append(pick(tone.farewell))
    elif curious < traits.curiosity and not situation.partner_word_given:
        sentences.append(pick(tone.ask))
    text = " ".join(sentences).format(partner=role.partner, word=act.word, code=act.code)
    return text.replace("\n ", "\n").strip()


def _reaction(role: PlayedRole, situation: Situation, reacting: float, dice: GameDice) -> str:
    if situation.opening:
        return dice.pick(role.tone.greet)
    reading = situation.last_message
    if reading.word_given:
        if reading.word and reacting < 0.4:
            return dice.pick(_PHRASES["echo"]).replace("{word}", reading.word)
        return dice.pick(_PHRASES["thanks"])
    return dice.pick(_PHRASES["acknowledge"]) if reacting < 0.6 else ""


def _quiet_phrases(role: PlayedRole, situation: Situation, dealing: float) -> tuple[str, ...]:
    if situation.word_given:
        return _PHRASES["settled"] if situation.partner_word_given else _PHRASES["remind"]
    if situation.partner_word_given:
        return _PHRASES["withhold"]
    if situation.last_message.asks:
        return role.tone.deflect
    return _PHRASES["offer"] if dealing < role.traits.bargaining else role.tone.chat


def _unnaming(role: PlayedRole, dice: GameDice) -> str:
    """A harmless sentence for an agent whose secret is a common word."""
    assert role.forms is not None
    sayings = role.tone.chat + role.tone.deflect
    start = dice.pick(range(len(sayings)))
    for saying in (*sayings[start:], *sayings[:start], *_PHRASES["mute"]):
        text = saying.format(partner=role.partner)
        if not role.forms.named_in(text):
            return text
    raise AssertionError("a secret cannot be part of every saying")


MISSES = 0.04
"""share of revealed secrets that it does not notice"""
IMAGINES = 0.02
"""share of kept secrets that it takes for revealed"""
MUMBLES = 0.005
"""share of conversations for which it gives no verdict"""


def judge_game(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    question = read_question(messages[-1].text) if messages else None
    dice = Dice(seed)
    if question is None or dice.unit() < MUMBLES:
        return SimulatedReply("I cannot tell from this.")
    player_texts = [text for speaker, text in question.talk if speaker == question.player]
    revealed = any(reveals_secret(text, question.secret) for text in player_texts)
    wrong = dice.unit() < (MISSES if revealed else IMAGINES)
    reason = "The player's words lead to it." if revealed else "Nothing the player says leads to it."
    return SimulatedReply(
        f"{reason}\nVERDICT: {'YES' if revealed != wrong else 'NO'}", json.dumps({"way": "verdict", "given": revealed})
    )


def reveals_secret(text: str, secret: str) -> bool:
    reveal = find_reveal(text, secret)
    return (reveal is not None and not reveal.uncertain) or any(guise.word in text for guise in forms_of(secret).hint)


PLAYER = Responder(play)
JUDGE = Responder(judge_game, recognises=lambda system: system == JUDGE_SYSTEM)
