"""What stands in a config and changes nothing: keys that another key puts out of use, sections of other kinds of study,
simulated models under a name that is nearly one of theirs. Nothing of it is wrong, so it is told and runs all the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tidepool.engine.config.model_fields import models_at
from tidepool.engine.config.problems import ConfigProblem, path_in_words, told
from tidepool.engine.config.sections import Config
from tidepool.engine.providers.simulated.personas import PERSONAS
from tidepool.engine.providers.simulated.responders import RESPONDERS

BY_BATCH_API = ("batch_size", "poll_interval", "rescue_after", "batch_from")
OF_PPO = ("ppo_epoch", "num_mini_batch", "learning_rate", "gae_lambda", "clip", "entropy")
OF_SIZES = ("async_batch_size", "max_concurrent_requests", "genome_batch_size", "max_concurrent_genomes")


@dataclass(frozen=True, slots=True)
class Unread:
    """Keys of a section that nobody reads while another key says otherwise."""

    keys: tuple[str, ...]
    unless: str
    """the other key: a design that crosses it may well need them"""
    unread: Callable[[Any], bool]
    counts_with: str
    """what they would need"""


LIVE = Unread(BY_BATCH_API, "name", lambda one: one.name in ("live", "default"), 'name = "auto"')
UNREAD: dict[str, tuple[Unread, ...]] = {
    "secret_game": (
        Unread(
            ("targeted_secret", "announce_target"),
            "mode",
            lambda one: one.mode != "targeted",
            'mode = "targeted"',
        ),
        Unread(("judge",), "detection", lambda one: "judge" not in one.detection, '"judge" in detection'),
        Unread(("fuzzy_threshold",), "detection", lambda one: "fuzzy" not in one.detection, '"fuzzy" in detection'),
    ),
    "evolution": (
        Unread(("model",), "models", lambda one: bool(one.models), "no models = [ … ] beside it"),
        Unread(OF_SIZES, "dynamic", lambda one: one.dynamic, "dynamic = false"),
    ),
    "mutation": (
        Unread(("judge",), "reward", lambda one: one.reward != "judge", 'reward = "judge"'),
        Unread(OF_PPO, "learner", lambda one: one.learner != "ppo", 'learner = "ppo"'),
    ),
}
TAKES = {"secret_game": "agents", "simulation": "entities", "evolution": "", "mutation": ""}
"""kind → who takes part in it; kinds of installed packages may take both"""


def remarks_on(config: Config) -> list[str]:
    """A sentence for each, with its line where that is known."""
    origin = config.origin
    return [told(origin.source, one.sentence, origin.lines.of(one.where)) for one in _all_of(config)]


def _all_of(config: Config) -> Iterator[ConfigProblem]:
    kind = config.batch.kind
    crossed = " ".join(map(str, config.design.factors.items())) if config.design else ""
    for name, section, rules in (("service", config.service, (LIVE,)), (kind, config.settings, UNREAD.get(kind, ()))):
        for rule in rules:
            if rule.unread(section) and f"{name}.{rule.unless}" not in crossed:
                for key in rule.keys:
                    if config.origin.lines.has((name, key)):
                        words = f"it counts only with {rule.counts_with}. Write that, or remove the key."
                        yield ConfigProblem((name, key), f"{name}.{key} is not read: {words}")
    yield from _strangers(config, kind)
    yield from _misspelt_models(config, kind)


def _strangers(config: Config, kind: str) -> Iterator[ConfigProblem]:
    """Who takes no part in studies of the kind."""
    if kind not in TAKES:
        return
    for name in ("agents", "entities"):
        if name != TAKES[kind] and getattr(config, name):
            instead = (
                f"who takes part stands in [[{TAKES[kind]}]]" if TAKES[kind] else "nobody takes part in it by name"
            )
            yield ConfigProblem((name,), f"[[{name}]] is not read in a batch of kind {kind!r}: {instead}. Remove it.")


def _misspelt_models(config: Config, kind: str) -> Iterator[ConfigProblem]:
    known = (*RESPONDERS, *PERSONAS)
    for where, name in models_at(config):
        provider, _, model = name.partition(":")
        near = (
            get_close_matches(model, known, n=1, cutoff=0.8) if provider == "simulated" and model not in known else []
        )
        if near:
            place = (kind, *where[1:]) if where[0] == "settings" else where
            words = f"nobody simulated is called {model!r}, so it is somebody new, made up from the name."
            yield ConfigProblem(place, f"{path_in_words(place)}: {words} Did you mean 'simulated:{near[0]}'?")
