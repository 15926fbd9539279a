"""What the app's screens know of each kind of study, in one place; a kind that is not named here gets what fits any.

The engine's own declaration (`Kind`) says what a kind is called, what its units are and what its keys are. Here
stands only how that is laid out: groups of the form, choices in words, something to try, panels of the results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tidepool.engine.errors import TidepoolError
from tidepool.engine.kinds import KINDS, Kind, load_kind

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Starter:
    """Something to try in an empty file, one key away."""

    key: str
    title: str
    text: str
    file: str

    @property
    def path(self) -> Path:
        return HERE / "starters" / self.file


Groups = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KindScreens:
    what: Groups = ()
    """the first step of the form, in order: a title, and its keys in order. The first group of a step is open, the others folded"""
    who: Groups = ()
    how: Groups = ()
    rest: str = "More"
    """the group of keys that have no place"""
    elsewhere: frozenset[str] = frozenset()
    """keys that the page of people shows"""
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """key → what each of its choices means"""
    starter: Starter | None = None
    family: bool = False
    """its results have a family tree"""
    reads: str = "talks"
    """what is read of it: talks, answers (to problems) or episodes"""
    by_wave: bool = False
    """a column of its wavefront is a wave; else simply a unit's next call"""


SCREENS: Mapping[str, KindScreens] = {
    "secret_game": KindScreens(
        what=(
            ("Game", "mode num_interactions messages_per_interaction pairing"),
            ("Length and target", "games rounds targeted_secret announce_target"),
            (
                "Scoring",
                "scoring.only_obtained scoring.both scoring.none scoring.only_revealed scoring.per_secret "
                "scoring.per_unique scoring.target",
            ),
            ("Detection", "detection fuzzy_threshold judge reasoning_effort max_reasoning_tokens"),
            ("Scenarios", "scenarios"),
        ),
        rest="Scenarios",
        choices={
            "pairing": {
                "round_robin": "everybody meets everybody in turn",
                "random": "a seeded shuffle each round",
                "ordered": "every ordered pair, self included: to compare models",
            },
            "mode": {
                "standard": "points by conversation",
                "retained": "secrets kept to the end; rare ones pay more",
                "diversity": "each different secret kept pays",
                "targeted": "one secret pays most",
            },
        },
        starter=Starter(
            "g", "Play a secret game", "400 talks of four agents who want each other's secret", "secret_game.toml"
        ),
        by_wave=True,
    ),
    "simulation": KindScreens(
        what=(
            ("Talk", "context interaction_size num_simulations n_turns"),
            ("Judge", "judge.question judge.model judge.scale"),
            ("The talk in detail", "context_file simulation_rounds style thoughts language speaking_order"),
        ),
        who=(
            ("Model", "model entity_file"),
            ("Replies", "temperature max_tokens reasoning_effort max_reasoning_tokens"),
        ),
        elsewhere=frozenset({"entity_ids"}),
        starter=Starter(
            "t", "Let personas talk", "a panel of invented people on one question, in pairs", "simulation.toml"
        ),
        by_wave=True,
    ),
    "evolution": KindScreens(
        what=(
            ("Search", "problems strategy population_size max_generations max_problems validation_problems"),
            ("Problems", "task labels fields question_template judge_from samples"),
            ("Marking", "rubric scorer pass_mark marking_seconds"),
            ("Honesty", "racing seed_final random_baseline"),
            ("Breeding", "selection crossover crossover_rate mutation_rate elite_size seed_prompts"),
            ("Fitness", "weights.accuracy weights.consistency weights.efficiency weights.diversity"),
        ),
        who=(
            ("Models", "model mutator models judge"),
            ("Replies", "temperature max_tokens reasoning_effort max_reasoning_tokens"),
        ),
        how=(("Stop", "target_fitness stagnation max_calls"),),
        rest="Sizes",
        choices={
            "task": {
                "auto": "a number or words, by the expected answer",
                "number": "a number, however it is written",
                "choice": "a letter; choices are shown with the question",
                "label": "one of the labels, or of the answers",
                "text": "a few words",
                "python": "code, which the problem's tests are run on",
                "judge": "anything, which a judge model rates by the rubric",
            }
        },
        starter=Starter("v", "Evolve a prompt", "a population of prompts gets better at arithmetic", "evolution.toml"),
        family=True,
        reads="answers",
    ),
    "mutation": KindScreens(
        what=(
            ("Task", "queries reward success learner num_env_steps"),
            ("Learning", "heldout operators num_processes num_steps episode_length baselines repeats policy"),
        ),
        who=(
            ("Models", "target mutator judge encoder"),
            ("Replies", "temperature max_tokens reasoning_effort max_reasoning_tokens on_error"),
        ),
        how=(("Waves", "use_batching"),),
        rest="Training in detail",
        reads="episodes",
    ),
}

STARTERS = tuple(screens.starter for screens in SCREENS.values() if screens.starter is not None)


@cache
def screens_of(kind: str) -> KindScreens:
    """A kind of an installed package, or of one that is not installed here, is laid out like any."""
    if kind in SCREENS:
        return SCREENS[kind]
    spec = installed(kind)
    return KindScreens(by_wave=spec is not None and spec.talks)


def installed(kind: str) -> Kind | None:
    """None where nobody has registered it, or its package is broken: the file can be read all the same."""
    try:
        return load_kind(kind) if kind in KINDS else None
    except TidepoolError:
        return None


def kind_titles() -> dict[str, str]:
    """Every kind there is to choose from, without loading any."""
    return {kind: kind.replace("_", " ").capitalize() for kind in KINDS}


def template(kind: str) -> str:
    """A study to begin with: the kind's own text, or a section in which everything is left to its default."""
    if kind in SCREENS:
        return (HERE / "compose" / "templates" / f"{kind}.toml").read_text(encoding="utf-8")
    spec = load_kind(kind)
    return f'# {spec.title}: {spec.summary}\n\n[batch]\nkind = "{kind}"\nname = "{spec.title}"\n\n[{kind}]\n'
