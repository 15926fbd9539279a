"""The layout of each kind of study on screens. A kind that is not listed here gets a general layout.

The engine's declaration (`Kind`) defines the title, the units and the keys of a kind. This module only defines how they are
shown: groups of the form, descriptions of choices, an example study, panels of the results.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tidepool.engine.errors import TidepoolError
from tidepool.engine.kinds import KINDS, Kind, load_kind
from tidepool.engine.registries import section_of
from tidepool.engine.studies.secret_game.scoring import MODES

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Starter:
    """An example study that one key starts in an empty file."""

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
    """groups of the form's first step, each a title and its keys; the first group of a step is open, the others are folded"""
    who: Groups = ()
    how: Groups = ()
    rest: str = "More"
    """the group of all other keys"""
    elsewhere: frozenset[str] = frozenset()
    """keys that the page of participants shows"""
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """key → description of each choice"""
    starter: Starter | None = None
    family: bool = False
    """whether the results have a family tree"""
    reads: str = "conversations"
    """what a reader sees: conversations, answers (to problems) or episodes"""
    by_wave: bool = False
    """whether a column of the progress panel is a wave; if not, it is a unit's next call"""


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
                "round_robin": "each pair meets in turn",
                "random": "a seeded shuffle each round",
                "ordered": "every ordered pair with self-play, to compare models",
            },
            "mode": {name: mode.choice for name, mode in MODES.items()},
        },
        starter=Starter(
            "g",
            "Play a secret game",
            "400 conversations of four agents who want each other's secret",
            "secret_game.toml",
        ),
        by_wave=True,
    ),
    "simulation": KindScreens(
        what=(
            ("Conversation", "context interaction_size num_simulations n_turns"),
            ("Judge", "judge.question judge.model judge.scale"),
            ("Details", "context_file simulation_rounds style thoughts language speaking_order"),
        ),
        who=(
            ("Model", "model entity_file"),
            ("Replies", "temperature max_tokens reasoning_effort max_reasoning_tokens"),
        ),
        elsewhere=frozenset({"entity_ids"}),
        starter=Starter("t", "Run a panel", "fictional personas discuss one question in pairs", "simulation.toml"),
        by_wave=True,
    ),
    "evolution": KindScreens(
        what=(
            ("Search", "problems strategy population_size max_generations max_problems validation_problems"),
            ("Problems", "task labels fields question_template judge_from samples"),
            ("Scoring", "rubric scorer pass_mark marking_seconds"),
            ("Fair comparison", "racing seed_final random_baseline"),
            ("Variation", "selection crossover crossover_rate mutation_rate elite_size seed_prompts"),
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
                "auto": "a number or text, depending on the expected answer",
                "number": "a number in any notation",
                "choice": "a letter; the question lists the choices",
                "label": "one of the labels or of the expected answers",
                "text": "a few words",
                "python": "code that must pass the problem's tests",
                "judge": "any text; a judge model rates it by the rubric",
            }
        },
        starter=Starter("v", "Evolve a prompt", "a population of prompts improves at arithmetic", "evolution.toml"),
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
        rest="Training details",
        reads="episodes",
    ),
}

STARTERS = tuple(screens.starter for screens in SCREENS.values() if screens.starter is not None)


@cache
def screens_of(kind: str) -> KindScreens:
    """Returns the layout of a kind. Kinds of packages, installed or not, get the general layout."""
    if kind in SCREENS:
        return SCREENS[kind]
    spec = installed(kind)
    return KindScreens(by_wave=spec is not None and spec.talks)


def installed(kind: str) -> Kind | None:
    """Returns the kind; None if it is not registered or its package is broken, so that the file stays readable."""
    try:
        return load_kind(kind) if kind in KINDS else None
    except TidepoolError:
        return None


def kind_titles() -> dict[str, str]:
    """Returns the titles of all kinds without loading them."""
    return {kind: kind.replace("_", " ").capitalize() for kind in KINDS}


def template(kind: str) -> str:
    """Returns a first draft of a kind: its own template, or a section with its keys and their defaults as comments."""
    if kind in SCREENS:
        return (HERE / "compose" / "templates" / f"{kind}.toml").read_text(encoding="utf-8")
    spec = load_kind(kind)
    keys = "".join(
        f"# {name} = {'…' if field.is_required() else json.dumps(field.default, ensure_ascii=False)}  # {field.description or ''}\n"
        for name, field in spec.settings_for({}).model_fields.items()
        if name not in spec.filled_in and (field.is_required() or isinstance(field.default, str | int | float))
    )
    head = f'# {spec.title}: {spec.summary}\n\n[batch]\nkind = "{kind}"\nname = "{spec.title}"\n'
    return f"{head}\n[{section_of(kind)}]\n{keys}"
