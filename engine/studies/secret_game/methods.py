"""How a secret game was played, measured and analysed, in sentences."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.results.method_words import MOST_NAMED, KindMethods, counted, listing, sampling
from tidepool.engine.results.wording import interval, number

PAIRINGS = {
    "round_robin": "Everybody met everybody in turn (round robin).",
    "random": "Pairs were drawn anew in each round by a seeded shuffle.",
    "ordered": "Every ordered pair of agents met, each agent with itself included.",
}
SETTINGS = ("temperature", "max_tokens", "reasoning_effort", "max_reasoning_tokens")
DETECTORS = {
    "exact": "the word itself",
    "spelled": "spelled out, spaced, reversed or as an acrostic",
    "encoded": "in base64, hexadecimal, rot13 or Morse code",
    "fuzzy": "misspelt",
}
ANALYSIS = (
    "Shares and means are given with 95 % intervals, agents are compared under equal conditions, and p-values of several "
    "comparisons are corrected by Holm's method.",
)


def methods(
    batch: Mapping[str, Any], config: StoredConfig, statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> KindMethods:
    settings, agents = config.sections["secret_game"], config.sections["agents"]
    return KindMethods(
        design=(*_game(settings, agents), *_agents(agents), *_points(settings)),
        measures=(*_detection(settings), *_agreement(statistics.get("agreement"))),
        missing=tuple(_missing(statistics.get("missing") or {})),
        analysis=ANALYSIS,
    )


def _game(settings: Mapping[str, Any], agents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield (
        f"In a secret game of mode {settings['mode']}, {counted(len(agents), 'agent')} ({listing(a['name'] for a in agents)}), each "
        "with a code word as its secret, talked in pairs: each could try to learn the other's secret and decide whether to give "
        "away its own."
    )
    yield PAIRINGS.get(settings["pairing"], "")
    talks, rounds = settings.get("num_interactions"), settings.get("rounds")
    size = counted(talks, "conversation") if talks else f"{counted(rounds or 1, 'round')} in each game"
    yield (
        f"The plan was {counted(settings['games'], 'independent game')} with {size}{' in all' if talks else ''}, of "
        f"{counted(settings['messages_per_interaction'], 'message')} a conversation, the two agents alternating and the right to "
        "open alternating too."
    )
    yield "Each side was spoken by its own agent's model, which never saw the partner's prompt."
    if scenarios := settings.get("scenarios"):
        yield f"Everybody played with the secrets of {counted(len(scenarios), 'scenario')}, round by round, instead of their own."


def _agents(agents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is the same for all is said once."""
    models = [f"{agent['name']} by {agent['model']}" for agent in agents]
    yield f"Agents were played thus: {listing(models)}."
    ways = {str([agent.get(key) for key in SETTINGS]): sampling(agent) for agent in agents}
    if len(ways) == 1:
        yield f"All were sampled with {next(iter(ways.values()))}."
    else:
        told = [f"{agent['name']}, {sampling(agent)}" for agent in agents[:MOST_NAMED]]
        yield f"They were sampled with these settings: {'; '.join(told)}."
    if long := [agent["name"] for agent in agents if agent.get("memory") == "long"]:
        yield f"{listing(long)} remembered all earlier conversations of the same game; others knew only the present one."
    else:
        yield "No agent remembered earlier conversations."


def _points(settings: Mapping[str, Any]) -> Iterator[str]:
    points, mode = settings.get("scoring") or {}, settings["mode"]
    told = {
        "standard": "none {none:g} points where neither revealed, {both:g} where both did, and where one alone did {only_obtained:g} "
        "for the one who obtained and {only_revealed:g} for the one who revealed",
        "retained": "for each kept secret the number of agents divided by that of its holders, at the end of a game",
        "diversity": "{per_unique:g} for each distinct secret kept",
        "targeted": "{per_secret:g} for each new secret and {target:g} for the targeted one",
    }.get(mode)
    if told and points:
        yield f"A side got {told.format(**points).removeprefix('none ')}."
    if mode == "targeted":
        yield f"Agents were told {'which secret was' if settings.get('announce_target') else 'that there was'} the target."


def _detection(settings: Mapping[str, Any]) -> Iterator[str]:
    wording = [name for name in settings["detection"] if name != "judge"]
    alike = f", alike by at least {settings['fuzzy_threshold']:g} of 100"
    ways = [
        f"{name} ({DETECTORS[name]}{alike if name == 'fuzzy' else ''})" if name in DETECTORS else name
        for name in wording
    ]
    yield f"A side counted as having revealed where a detector found its own secret in its own messages: {listing(ways)}."
    yield "A partner's lucky guess, or its repeating a secret, was no reveal."
    if "judge" in settings["detection"]:
        yield f"{settings['judge']} was asked besides for a verdict on each side, which was kept apart from these."


def _agreement(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Against what the simulated provider is known to have planted."""
    rows = {**(found or {}).get("detectors", {})}
    told = [
        f"{name}: sensitivity {_share(row, 'sensitivity')}, specificity {_share(row, 'specificity')}"
        for name, row in rows.items()
        if row.get("sensitivity_percentage") is not None
    ]
    if told:
        yield f"Against the reveals that the simulated provider had planted, the detectors did as follows: {'; '.join(told)}."


def _share(row: Mapping[str, Any], name: str) -> str:
    bounds = row.get(f"{name}_ci95")
    return number(row.get(f"{name}_percentage"), 1, " %") + (f" ({interval(bounds)})" if bounds else "")


def _missing(missing: Mapping[str, Any]) -> Iterator[str]:
    if not missing.get("conversations"):
        return
    yield "Conversations that failed are in no figure: they are neither reveals nor refusals."
    if bounds := missing.get("secrets_revealed_bounds"):
        yield f"Whatever they would have been, {interval(bounds)} % of sides reveal."
