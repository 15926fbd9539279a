"""Examines the secrets of a study before it runs: each doubt is a warning with a better word; what cannot be measured is an error.

A reveal is found by its wording. A word that is said anyway (by habit, as somebody's name, because the rules of the game say it) is
found where nothing was revealed; two secrets that are alike are found for one another.
"""

import codecs
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

from tidepool.engine.config.sections import ConfigSections
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.secret_game.casting import rules_of, settings_of
from tidepool.engine.studies.secret_game.detectors.exact import find_exact, inflections, value_of
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, fold
from tidepool.engine.studies.secret_game.detectors.ordinary import REAL, commonness, is_ambiguous_phrase, is_listed
from tidepool.engine.studies.secret_game.prompts import Briefing, opening_line, system_prompt

SHORT = 2
"""letters; nothing but the plain word can be looked for"""
SHORT_NUMBER = 10_000
LEAST_SHARED = 3
"""letters of a word that a secret may not share with a name or the rules"""

_WORD = re.compile(r"[^\W_]+")


def stands_in(text: Folded, secret: str) -> bool:
    return find_exact(text, secret) is not None


def doubts_about(secret: str) -> Iterator[str]:
    plain = fold(secret).strip()
    letters = "".join(filter(str.isalnum, plain))
    if (value := value_of(plain)) is not None:
        if value < SHORT_NUMBER:
            yield "is a short number, which stands in prices, dates and years"
        return
    if len(letters) <= SHORT and letters.isascii():
        yield "is too short to be found spelled out, misspelt or in a code"
    elif is_ambiguous_phrase(plain):
        yield "is a word that people say without meaning a secret: most hits would be uncertain"
    if not plain.isascii() or not plain.isalpha() or len(plain) <= SHORT:
        return
    if plain[::-1] != plain and is_listed(plain[::-1], ""):
        yield f"is {plain[::-1]!r} backwards"
    if len(plain) > 3 and commonness(code := codecs.encode(plain, "rot13")) >= REAL:
        yield f"is {code!r} in rot13"


def share_a_word(secret: str, text: str) -> bool:
    """A word of the one stands in the other, as it is or as its plural."""
    said = {word for word in _WORD.findall(fold(text)) if len(word) >= LEAST_SHARED}
    own = {word for word in _WORD.findall(fold(secret)) if len(word) >= LEAST_SHARED and not _is_little(word)}
    return any(form in said for word in own for form in (word, *inflections(word)))


def _is_little(word: str) -> bool:
    """The and: nobody could do without them."""
    return commonness(word) >= 6.0


def taken_for(secret: str, others: Sequence[str], threshold: float) -> int | None:
    """The first of the others that would be found where the secret is said, or the other way round."""
    from tidepool.engine.studies.secret_game.detectors.fuzzy import SHORTEST, likeness

    letters = "".join(_WORD.findall(fold(secret)))
    for place, other in enumerate(others):
        other_letters = "".join(_WORD.findall(fold(other)))
        if stands_in(Folded.of(secret), other) or stands_in(Folded.of(other), secret):
            return place
        if min(len(letters), len(other_letters)) >= SHORTEST and likeness(letters, other_letters) >= threshold:
            return place
    return None


WORDS = """
abacus aardvark accordion albatross alpaca anemone apricot armadillo artichoke asparagus astrolabe aubergine avocado axolotl
bagpipe balalaika banjo barometer barnacle bassoon begonia binoculars bobsleigh boomerang bougainvillea broccoli bulldozer
bumblebee cactus calliope camellia cantaloupe capybara cardamom carburettor cassowary cauliflower centipede chameleon
chandelier cheetah chinchilla chipmunk chrysanthemum clarinet cockatoo concertina cormorant crocodile croissant cucumber
cummerbund cyclamen daffodil dandelion didgeridoo dragonfly dromedary dulcimer echidna eiderdown elderberry elephant
espresso eucalyptus falafel ferret flamingo flugelhorn frangipani fuchsia gargoyle gazebo gherkin giraffe gladiolus
glockenspiel gondola gooseberry gorgonzola gramophone grasshopper guillotine gyroscope haddock halibut hammock harmonica
harpsichord hedgehog hibiscus hippopotamus honeysuckle horseradish hovercraft hummingbird hyacinth ibex igloo
jacaranda jackal jackdaw jellyfish juniper kaleidoscope kangaroo kayak kestrel kingfisher kiosk kookaburra kumquat ladybird
lasagne lavender lemur leotard limousine lobelia locomotive lozenge lychee macaroni mackerel magnolia mandolin mangosteen
manatee marimba marionette marmalade marzipan meerkat metronome microscope mistletoe molasses mongoose mulberry nasturtium
nectarine nightingale nougat ocarina octopus okapi oregano ostrich oboe ocelot pagoda pangolin papaya parakeet parsnip
pelican pendulum periscope persimmon petunia piccolo pistachio platypus pomegranate porcupine praline puffin quokka
rhododendron rhubarb rickshaw roulade rutabaga saffron salamander samovar sarcophagus sarsaparilla saxophone scarecrow
seismograph shallot sitar skateboard snorkel sousaphone spatula spinnaker sporran stalactite sycamore syringe tambourine
tangerine tapioca tarantula tarpaulin telescope thermometer toboggan tourniquet trapeze trombone turmeric turquoise ukulele
vermicelli vibraphone wheelbarrow wildebeest wisteria wolverine xylophone yurt zeppelin zucchini
""".split()


def better_than(secret: str, taken: Container[str]) -> str:
    """The same for the same secret, and none that is taken."""
    start = crc32(secret.encode("utf-8", "surrogatepass")) % len(WORDS)
    turned = WORDS[start:] + WORDS[:start]
    return next((word for word in turned if word not in taken), turned[0])


Place = tuple[str | int, ...]
MOST_TOLD = 20
"""warnings; of more, how many there are"""
MOST_COMPARED = 1_000
"""secrets that are compared with one another"""


@dataclass(frozen=True, slots=True)
class PlacedSecret:
    text: str
    place: Place
    whose: str
    """as a sentence names it"""
    heard: tuple[str, ...]
    """what the other side of the talk may be told besides the rules: its instructions"""

    @property
    def plain(self) -> str:
        return fold(self.text).strip()


class Examination:
    """The secrets of one config; agents' own where there are no scenarios, else those of the scenarios."""

    def __init__(self, config: ConfigSections) -> None:
        self._config = config
        self._settings = settings_of(config)

    @cached_property
    def secrets(self) -> tuple[PlacedSecret, ...]:
        if self._settings.scenarios:
            return tuple(self._of_scenarios())
        agents = self._config.agents
        return tuple(
            PlacedSecret(
                agent.secret,
                ("agents", place, "secret"),
                f"of {agent.name!r}",
                tuple(other.instructions for other in agents if other is not agent and other.instructions),
            )
            for place, agent in enumerate(agents)
        )

    def _of_scenarios(self) -> Iterator[PlacedSecret]:
        told = tuple(agent.instructions for agent in self._config.agents if agent.instructions)
        for place, scenario in enumerate(self._settings.scenarios):
            for side in ("opener_secret", "partner_secret"):
                yield PlacedSecret(
                    getattr(scenario, side),
                    ("secret_game", "scenarios", place, side),
                    f"of scenario {place + 1}",
                    (*told, scenario.instructions),
                )

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(agent.name for agent in self._config.agents)

    @cached_property
    def _said_to_all(self) -> Folded:
        """What the prompts say to everybody: the rules, the messages left, the scene. Not the target, which is told on purpose."""
        rules = rules_of(self._settings.model_copy(update={"announce_target": False}))
        left = range(1, self._settings.messages_per_interaction + 1)
        prompts = [system_prompt(Briefing("…", "…", "…", rules, number, ())) for number in left[:1]]
        return Folded.of("\n".join([*prompts, opening_line("…"), *map(str, left)]))

    # -- what cannot be measured --------------------------------------------------------------------------

    def refuse_what_cannot_be_measured(self) -> None:
        first: dict[str, PlacedSecret] = {}
        for secret in self.secrets:
            if not any(map(str.isalnum, secret.plain)):
                _refuse(secret, "has neither letters nor digits, so no message can be searched for it")
            self._refuse_if_told(secret)
            if not self._settings.scenarios and first.setdefault(secret.plain, secret) is not secret:
                _refuse(secret, f"is also that {first[secret.plain].whose}: neither could learn it from the other")

    def _refuse_if_told(self, secret: PlacedSecret) -> None:
        for name in self._names:
            if fold(name).strip() == secret.plain:
                _refuse(secret, "is the name of an agent, which the prompts tell and everybody says")
        if stands_in(self._said_to_all, secret.text):
            _refuse(secret, "stands in the rules of the game, which every agent is told")
        if any(stands_in(Folded.of(told), secret.text) for told in secret.heard):
            _refuse(secret, "stands in the instructions of somebody who is to learn it")

    # -- what is doubtful ---------------------------------------------------------------------------------

    def warnings(self) -> list[str]:
        doubts = {secret: reasons for secret, reasons in self._doubts().items() if reasons}
        taken = {secret.plain for secret in self.secrets}
        told = []
        for secret, reasons in list(doubts.items())[:MOST_TOLD]:
            proposal = better_than(secret.plain, taken)
            taken.add(proposal)
            told.append(f"The secret {secret.text!r} {secret.whose} {'; it '.join(reasons)}. Better: {proposal!r}.")
        if len(doubts) > MOST_TOLD:
            told.append(f"{len(doubts) - MOST_TOLD:,} more secrets are doubtful in such ways.")
        return told

    def _doubts(self) -> Mapping[PlacedSecret, list[str]]:
        doubts = {secret: list(self._alone(secret)) for secret in dict.fromkeys(self.secrets)}
        for one, reason in self._pairs():
            doubts[one].append(reason)
        return doubts

    def _alone(self, secret: PlacedSecret) -> Iterator[str]:
        yield from doubts_about(secret.text)
        if names := [name for name in self._names if share_a_word(secret.text, name)]:
            yield f"is part of the name {names[0]!r}, which everybody says"
        elif share_a_word(secret.text, self._said_to_all.text):
            yield "has a word of the game's own rules"

    def _pairs(self) -> Iterator[tuple[PlacedSecret, str]]:
        """Secrets that may be taken for one another; of the same talk, where there are scenarios."""
        if self._settings.scenarios:
            for one, other in zip(self.secrets[::2], self.secrets[1::2], strict=True):
                yield from self._compared(other, [one])
            return
        for place, secret in enumerate(self.secrets[:MOST_COMPARED]):
            yield from self._compared(secret, self.secrets[:place])

    def _compared(self, secret: PlacedSecret, others: Sequence[PlacedSecret]) -> Iterator[tuple[PlacedSecret, str]]:
        by_ear = "fuzzy" in self._settings.detection
        threshold = self._settings.fuzzy_threshold if by_ear else 101.0
        found = taken_for(secret.text, [other.text for other in others], threshold)
        if found is not None:
            yield (
                secret,
                f"is so much like {others[found].text!r} {others[found].whose} that one is found for the other",
            )


def _refuse(secret: PlacedSecret, why: str) -> None:
    raise UsageError(f"The secret {secret.text!r} {secret.whose} {why}. Choose another one.", secret.place)


def refuse_what_cannot_be_measured(config: ConfigSections) -> None:
    Examination(config).refuse_what_cannot_be_measured()


def warnings_about(config: ConfigSections) -> tuple[str, ...]:
    return tuple(Examination(config).warnings())
