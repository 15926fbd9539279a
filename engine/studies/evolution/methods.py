"""How prompts were evolved, marked and compared, in sentences."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.reports.blocks import KindMethods, counted, listing, sampling
from tidepool.engine.studies.evolution.genome import QUESTION
from tidepool.engine.studies.evolution.records import counted_reasons

STRATEGIES = {
    "genetic": "by a genetic algorithm",
    "reflective": "by reflection: the mutator saw failed problems with the replies and proposed better instructions",
    "gepa": "by the package gepa",
    "random": "by random search",
}
HELD_OUT = (
    "The champion and the best seed prompt were compared on {problems} held out from the search, which chose neither of them. "
    "Their accuracies have Wilson's 95 % intervals, graded scores Student's; with several replies a problem, the number of "
    "independent replies was estimated from the spread between problems. The difference was taken problem by problem, with Student's "
    "interval and test, or Bonett and Price's where few problems differed; problems that one of them was not answered were left out."
)
MISSING = "of the answers on training problems are missing: a call that failed is never a wrong answer."
CURVES = (
    "Intervals of a generation's mean fitness are Student's over its prompts. Fitness and accuracy in training decided which prompts "
    "went on, so they flatter the best and are no evidence of their worth."
)


def methods(
    batch: Mapping[str, Any], config: StoredConfig, statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> KindMethods:
    settings = config.sections["evolution"]
    problems = counted(_size(settings, "validation"), "problem")
    weights = " + ".join(f"{weight:g} × {name}" for name, weight in settings["weights"].items() if weight)
    share = statistics["genomes"].get("missing")
    return KindMethods(
        design=(*_search(settings), *_course(statistics)),
        measures=(
            f"Fitness was {weights}, less a penalty for long prompts, each part between 0 and 1.",
            _marking(settings),
        ),
        missing=(f"{100 * share:.1f} % {MISSING}",) if share else (),
        analysis=(HELD_OUT.format(problems=problems), *_rival(settings), CURVES),
    )


def _search(settings: Mapping[str, Any]) -> Iterator[str]:
    seeds = settings.get("seed_prompts")
    origin = counted(len(seeds), "seed prompt") + " of our own" if seeds else "the seed prompts that come with Tidepool"
    yield (
        f"Prompts were evolved {STRATEGIES.get(settings['strategy'], settings['strategy'])}, from {origin}, in populations of "
        f"{settings['population_size']:,} over at most {counted(settings['max_generations'], 'generation')}."
    )
    if settings["strategy"] == "genetic":
        yield (
            f"Parents were chosen by {settings['selection']} selection and joined by {settings['crossover'].replace('_', '-')} crossover "
            f"(rate {settings['crossover_rate']:g}); segments were changed at a rate of {settings['mutation_rate']:g}, also by rewriting "
            f"with {settings['mutator']}; the best {settings['elite_size']:,} went on unchanged."
        )
    elif settings["strategy"] != "random":
        yield f"{settings['mutator']} rewrote prompts."
    solvers = settings.get("models") or [settings["model"]]
    yield (
        f"A prompt was {_place(settings)} with which {listing(solvers)} answered problems of {_origin(settings)} "
        f"({counted(_size(settings, 'training'), 'problem')} for training, {counted(settings['samples'], 'reply', 'replies')} each), with "
        f"{sampling(settings, 'a solution')}."
    )
    if few := settings.get("few_shot"):
        yield (
            f"Up to {counted(few, 'solved training problem')} stood before the question; which ones was evolved with the words, and no "
            "problem was its own example."
        )
    if settings.get("racing"):
        yield "Problems came in rungs, and after each the weaker half of the prompts was asked no more (successive halving)."


def _place(settings: Mapping[str, Any]) -> str:
    around = any(QUESTION in prompt for prompt in settings.get("seed_prompts") or ())
    return (
        "the message around the question (or the system prompt, where it names no question)"
        if around
        else "the system prompt"
    )


def _size(settings: Mapping[str, Any], split: str) -> int:
    """As many as there were: a file may have fewer than it was asked for."""
    frozen = settings.get("frozen")
    return (
        len(frozen[split]) if frozen else int(settings["max_problems" if split == "training" else f"{split}_problems"])
    )


def _origin(settings: Mapping[str, Any]) -> str:
    sources = (settings.get("frozen") or {}).get("sources") or {}
    return listing(list(sources.values())) if sources else f"the set {settings['problems']}"


def _course(statistics: Mapping[str, Any]) -> Iterator[str]:
    generations, genomes = len(statistics["generations"]), statistics["genomes"]
    if generations:
        end = f", and ended by the rule {statistics['stopped_by']}" if statistics.get("stopped_by") else ""
        yield (
            f"The search took {counted(generations, 'generation')} of {counted(genomes['total'], 'prompt')} in all, "
            f"{genomes['distinct_prompts']:,} of them distinct, and {counted(statistics['search_calls'], 'call')}{end}."
        )
    if refused := statistics.get("refused_rewrites"):
        yield (
            f"{sum(refused.values()):,} of {counted(statistics['rewrites'], 'rewrite')} were refused ({counted_reasons(refused)}); their children "
            "were mutated without a model."
        )
    yield "The champion is the fittest prompt on the training problems."


def _marking(settings: Mapping[str, Any]) -> str:
    if scorer := settings.get("scorer"):
        digest = settings.get("scorer_sha256")
        return f"Replies were marked by the scorer {scorer}{f' (sha256 {digest})' if digest else ''}."
    match settings.get("task"):
        case "judge":
            rubric = settings.get("rubric")
            return (
                f"Replies were rated from 0 to 10 by {settings['judge']}, which saw the question, the expected answer and the reply, but "
                f"not the prompt{f', by the rubric “{rubric}”' if rubric else ''}; from {10 * settings['pass_mark']:g} on a reply counted "
                "as correct. Judgements that failed or were unclear are missing."
            )
        case "choice" | "label" as task:
            noun = "option" if task == "choice" else "label"
            return f"A reply was right where the {noun} that it commits to was the expected one; a reply without an answer was wrong."
    return (
        "A reply was right where the answer extracted from it matched the problem's: numbers to within 0.001 and 1 %, texts after "
        "normalisation; a reply without an answer was wrong."
    )


def _rival(settings: Mapping[str, Any]) -> Iterator[str]:
    if settings.get("seed_final"):
        yield "The best seed prompt was found with care: after the search all seed prompts were asked more training problems."
    if settings.get("random_baseline"):
        yield "A random search with as many calls was compared with the champion in the same way."
