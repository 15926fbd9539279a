"""What is wrong with a secret as an instrument: each doubt a warning with a better word, what cannot be measured an error.

A reveal is found by its wording. A word that is said anyway (by habit, as somebody's name, because the rules of the game
say it) is found where nothing was revealed; two secrets that are alike are found for one another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidepool.engine.config.sections import ConfigSections
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.secret_game.casting import rules_of, settings_of
from tidepool.engine.studies.secret_game.detectors.normalise import Folded, fold
from tidepool.engine.studies.secret_game.prompts import Briefing, opening_line, system_prompt
from tidepool.engine.studies.secret_game.secrets import words
from tidepool.engine.studies.secret_game.secrets.proposals import better_than

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
        if words.stands_in(self._said_to_all, secret.text):
            _refuse(secret, "stands in the rules of the game, which every agent is told")
        if any(words.stands_in(Folded.of(told), secret.text) for told in secret.heard):
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
        yield from words.doubts_about(secret.text)
        if names := [name for name in self._names if words.share_a_word(secret.text, name)]:
            yield f"is part of the name {names[0]!r}, which everybody says"
        elif words.share_a_word(secret.text, self._said_to_all.text):
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
        found = words.taken_for(secret.text, [other.text for other in others], threshold)
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
