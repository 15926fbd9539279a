"""Checks the secrets of a study before it runs. A doubtful secret causes a warning with a better word; an unusable one an error.

A reveal is found by its wording. A word that is common, that is a participant's name, or that appears in the rules of the game
would be found without a reveal. Two similar secrets would be found in place of each other.
"""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

from tidepool.engine.config.sections import ConfigSections
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.secret_game.casting import rules_of, settings_of
from tidepool.engine.studies.secret_game.config import SecretGameSettings
from tidepool.engine.studies.secret_game.detectors.exact import LONG_NUMBER, find_exact, inflections, value_of
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import FUNCTIONAL, commonness, is_ambiguous
from tidepool.engine.studies.secret_game.prompts import Briefing, opening_line, system_prompt

SHORT = 2
"""letters; shorter secrets can only be found as the plain word"""
LEAST_SHARED = 3
"""minimum length of a word that a secret may not share with a name or the rules"""

_WORD = re.compile(r"[^\W_]+")


def doubts_about(secret: str) -> Iterator[str]:
    plain = fold(secret).strip()
    letters = "".join(filter(str.isalnum, plain))
    if (value := value_of(plain)) is not None:
        if value < LONG_NUMBER:
            yield "is a short number, which also occurs in prices, dates and years"
        return
    if len(letters) <= SHORT and letters.isascii():
        yield "is too short to be found spelled out, misspelt or in a code"
    elif is_ambiguous(plain):
        yield "is a common word, so most hits would be uncertain"


def share_a_word(secret: str, text: str) -> bool:
    """Whether a word of one occurs in the other, as it is or in the plural."""
    words = {word for word in _WORD.findall(fold(text)) if len(word) >= LEAST_SHARED}
    rare = {word for word in _WORD.findall(fold(secret)) if len(word) >= LEAST_SHARED and commonness(word) < FUNCTIONAL}
    return any(form in words for word in rare for form in (word, *inflections(word)))


def mistaken_for(secret: str, others: Sequence[str], threshold: float) -> int | None:
    """The first of the others that would be found in place of the secret, or the reverse."""
    from tidepool.engine.studies.secret_game.detectors.fuzzy import SHORTEST, likeness

    letters = "".join(_WORD.findall(fold(secret)))
    for place, other in enumerate(others):
        other_letters = "".join(_WORD.findall(fold(other)))
        if find_exact(Folded.of(secret), other) or find_exact(Folded.of(other), secret):
            return place
        if min(len(letters), len(other_letters)) >= SHORTEST and likeness(letters, other_letters) >= threshold:
            return place
    return None


WORDS = """
abacus accordion albatross alpaca armadillo artichoke asparagus astrolabe aubergine avocado axolotl bagpipe balalaika barometer
bassoon begonia bougainvillea broccoli bulldozer bumblebee camellia capybara cardamom cauliflower chameleon chandelier
chinchilla chrysanthemum clarinet concertina cormorant crocodile croissant daffodil dandelion didgeridoo dromedary dulcimer
elderberry eucalyptus flamingo frangipani gargoyle gazebo glockenspiel gondola gooseberry gramophone gyroscope harpsichord
hedgehog hippopotamus honeysuckle hovercraft hummingbird jacaranda jellyfish kaleidoscope kingfisher locomotive mandolin
marmalade metronome nightingale octopus pelican periscope pomegranate porcupine rhubarb saxophone tambourine telescope
toboggan trombone ukulele wheelbarrow xylophone zeppelin zucchini
""".split()


def suggest_secret(secret: str, used: Container[str]) -> str:
    """A secret that is not used yet; always the same one for the same secret."""
    start = crc32(secret.encode("utf-8", "surrogatepass")) % len(WORDS)
    turned = WORDS[start:] + WORDS[:start]
    return next((word for word in turned if word not in used), turned[0])


MOST_WARNINGS = 20
"""most warnings shown; for the rest, only their number"""
MOST_COMPARED = 1_000
"""how many secrets are compared with one another"""


@dataclass(frozen=True, slots=True)
class PlacedSecret:
    text: str
    place: tuple[str | int, ...]
    owner: str
    """its description in a sentence"""
    shown_texts: tuple[str, ...]
    """what the other side of the conversation may know besides the rules: its instructions"""

    @property
    def plain(self) -> str:
        return fold(self.text).strip()


def _secrets(config: ConfigSections) -> list[PlacedSecret]:
    """The secrets of the scenarios; the agents' own if there are no scenarios."""
    agents, scenarios = config.agents, settings_of(config).scenarios
    if not scenarios:
        return [
            PlacedSecret(
                agent.secret,
                ("agents", place, "secret"),
                f"of {agent.name!r}",
                tuple(other.instructions for other in agents if other is not agent and other.instructions),
            )
            for place, agent in enumerate(agents)
        ]
    instructions = tuple(agent.instructions for agent in agents if agent.instructions)
    return [
        PlacedSecret(
            getattr(scenario, side),
            ("secret_game", "scenarios", place, side),
            f"of scenario {place + 1}",
            (*instructions, scenario.instructions),
        )
        for place, scenario in enumerate(scenarios)
        for side in ("opener_secret", "partner_secret")
    ]


def _common_texts(settings: SecretGameSettings) -> Folded:
    """What the prompts tell all agents: the rules, the messages left, the scene. Excludes the target, which is announced on purpose."""
    rules = rules_of(settings.model_copy(update={"announce_target": False}))
    prompt = system_prompt(Briefing("…", "…", "…", rules, 1, ()))
    left = map(str, range(1, settings.messages_per_interaction + 1))
    return Folded.of("\n".join([prompt, opening_line("…"), *left]))


def refuse_what_cannot_be_measured(config: ConfigSections) -> None:
    settings = settings_of(config)
    names, rules = {fold(agent.name).strip() for agent in config.agents}, _common_texts(settings)
    first: dict[str, PlacedSecret] = {}
    for secret in _secrets(config):
        if not any(map(str.isalnum, secret.plain)):
            _refuse(secret, "has neither letters nor digits, so it cannot be found in messages")
        if secret.plain in names:
            _refuse(secret, "is the name of an agent, which the prompts contain")
        if find_exact(rules, secret.text):
            _refuse(secret, "occurs in the rules of the game, which every agent knows")
        if any(find_exact(Folded.of(text), secret.text) for text in secret.shown_texts):
            _refuse(secret, "occurs in the instructions of an agent that has to obtain it")
        if not settings.scenarios and first.setdefault(secret.plain, secret) is not secret:
            _refuse(
                secret, f"is the same as that {first[secret.plain].owner}, so neither could obtain it from the other"
            )


def _refuse(secret: PlacedSecret, why: str) -> None:
    raise UsageError(f"The secret {secret.text!r} {secret.owner} {why}. Choose another secret.", secret.place)


def warnings_about(config: ConfigSections) -> tuple[str, ...]:
    """Warnings about the secrets, each with a better word."""
    secrets = _secrets(config)
    doubts = {secret: list(_doubts(config, secret)) for secret in dict.fromkeys(secrets)}
    for secret, reason in _mistakable(config, secrets):
        doubts[secret].append(reason)
    doubts = {secret: reasons for secret, reasons in doubts.items() if reasons}
    used = {secret.plain for secret in secrets}
    warnings = []
    for secret, reasons in list(doubts.items())[:MOST_WARNINGS]:
        proposal = suggest_secret(secret.plain, used)
        used.add(proposal)
        warnings.append(f"The secret {secret.text!r} {secret.owner} {'; it '.join(reasons)}. Try {proposal!r}.")
    if len(doubts) > MOST_WARNINGS:
        warnings.append(f"{len(doubts) - MOST_WARNINGS:,} more secrets have similar problems.")
    return tuple(warnings)


def _doubts(config: ConfigSections, secret: PlacedSecret) -> Iterator[str]:
    yield from doubts_about(secret.text)
    if names := [agent.name for agent in config.agents if share_a_word(secret.text, agent.name)]:
        yield f"is part of the name {names[0]!r}, which occurs in conversations"
    elif share_a_word(secret.text, _common_texts(settings_of(config)).text):
        yield "contains a word from the rules of the game"


def _mistakable(config: ConfigSections, secrets: Sequence[PlacedSecret]) -> Iterator[tuple[PlacedSecret, str]]:
    """Secrets that may be found in place of each other; with scenarios, only those of the same conversation."""
    settings = settings_of(config)
    threshold = settings.fuzzy_threshold if "fuzzy" in settings.detection else 101.0
    for place, secret in enumerate(secrets[:MOST_COMPARED]):
        others = secrets[place - place % 2 : place] if settings.scenarios else secrets[:place]
        index = mistaken_for(secret.text, [other.text for other in others], threshold)
        if index is not None:
            other = others[index]
            yield secret, f"is too similar to {other.text!r} {other.owner}, so that one is found in place of the other"
