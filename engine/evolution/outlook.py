"""What an evolution may take at most: stop rules can only make it shorter."""

from collections.abc import Iterator

from engine.evolution.breeding import Breeding
from engine.evolution.config import EvolutionSettings
from engine.evolution.numbering import Numbering
from engine.evolution.problems import ProblemSet
from engine.evolution.racing import calls_in, rungs
from engine.planning import Plan, PlannedCalls, merged
from engine.presets import resolve_model
from engine.prices import expected_tokens

PROMPT_TOKENS = 60
REPLY_TOKENS = 120
REWRITE_TOKENS = (400, 120)
_SAMPLED = 50

NOTE = (
    f"This is the most it takes: stop rules may end it sooner. A prompt is taken to have {PROMPT_TOKENS} tokens, a "
    f"reply {REPLY_TOKENS}."
)


def outlook(settings: EvolutionSettings, problems: ProblemSet) -> Plan:
    numbering = Numbering()
    calls: list[PlannedCalls] = []
    sampled = problems.training[:_SAMPLED]
    question = sum(expected_tokens(problem.question) for problem in sampled) // len(sampled)
    children = settings.population_size - (0 if settings.strategy == "random" else settings.elite_size)
    generations = _generations(settings, len(problems.training), children)
    for generation in range(generations):
        genomes = children if generation else settings.population_size
        rewrites = _rewrites(settings, genomes) if generation else 0
        if rewrites:
            calls.append(
                PlannedCalls(numbering.next_wave(), resolve_model(settings.mutator), rewrites, *REWRITE_TOKENS)
            )
        for rung in rungs(len(problems.training), genomes, settings.racing):
            asked = rung.entrants * (rung.end - rung.start)
            calls += _solved(settings, numbering.next_wave(), asked, question)
    searched = sum(planned.calls for planned in calls)
    units = settings.population_size + (generations - 1) * children
    if settings.random_baseline:
        calls.append(
            PlannedCalls(numbering.next_wave(), settings.solvers()[0], searched, PROMPT_TOKENS + question, REPLY_TOKENS)
        )
    finalists = 3 if settings.random_baseline else 2
    calls += _solved(settings, numbering.next_wave(), finalists * len(problems.validation), question)
    return Plan(units + finalists, merged(calls), (NOTE,))


def _solved(settings: EvolutionSettings, wave: int, asked: int, question: int) -> Iterator[PlannedCalls]:
    for model in settings.solvers():
        yield PlannedCalls(wave, model, asked * settings.samples, PROMPT_TOKENS + question, REPLY_TOKENS)


def _rewrites(settings: EvolutionSettings, children: int) -> int:
    match settings.strategy:
        case "random":
            return 0
        case "genetic":
            return round(children * Breeding().rewrite_share)
        case _:
            return children


def _generations(settings: EvolutionSettings, problems: int, children: int) -> int:
    """As many as max_calls lets there be."""
    if not settings.max_calls:
        return settings.max_generations
    weight = settings.samples * len(settings.solvers())
    first = calls_in(rungs(problems, settings.population_size, settings.racing), weight)
    later = calls_in(rungs(problems, children, settings.racing), weight) + _rewrites(settings, children)
    return max(1, min(settings.max_generations, 1 + (settings.max_calls - first) // max(1, later)))
