"""How a secret game was played, measured and analysed, in sentences."""

import sqlite3
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.intervals import in_percent, share_interval
from tidepool.engine.reports.blocks import (
    BONETT_PRICE,
    DESCRIBE,
    MOST_NAMED,
    MOVER,
    ONE_FAMILY,
    RATES,
    KindMethods,
    counted,
    interval,
    listing,
    sampling,
)
from tidepool.engine.studies.secret_game.contrasts import MOST_COMPARED
from tidepool.engine.studies.secret_game.detectors.detection import DEFAULT_THRESHOLD

PAIRINGS = {
    "round_robin": "Every agent met every other in turn (round robin).",
    "random": "A seeded shuffle drew the pairs of each round.",
    "ordered": "Every ordered pair of agents met, including each agent with itself.",
}
SETTINGS = ("temperature", "max_tokens", "reasoning_effort", "max_reasoning_tokens")
DETECTORS = {
    "exact": "the word, also in another case, spelling or joint of its parts",
    "spelled": "letter by letter, in parts, backwards, or as first letters of lines",
    "encoded": "in base64, hexadecimal, rot13 or Morse code",
    "fuzzy": "misspelt",
}
DENIALS = (
    "The detectors do not read denials: an agent that mentions its own secret, also to deny or quote a guess or in an everyday sense, "
    "counts as revealing it; ordinary words are often kept apart as uncertain."
)
QUESTIONS = {
    "against third agents": "Agents were compared against third agents, on the same opponents, sides and scenarios.",
    "head to head": "Agents were compared head to head, by the differences within their own conversations.",
}
ESTIMATORS = {
    "CR2": "Differences against third agents are by least squares, with CR2 standard errors and Satterthwaite's degrees of freedom (Bell and "
    "McCaffrey, 2002).",
    "clusters": "Where games or scenarios link conversations, standard errors are over these clusters.",
    "MOVER": MOVER,
    "t": "Mean differences have Student's interval and test.",
    "Bonett–Price": BONETT_PRICE,
}
"""by the method of a comparison"""
BEST = "Only the best agents by mean score were compared."


def methods(
    batch: Mapping[str, Any], config: StoredConfig, statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> KindMethods:
    settings, agents = config.sections["secret_game"], config.sections["agents"]
    return KindMethods(
        design=(*_game(settings, agents), *_agents(agents), *_points(settings)),
        measures=tuple(_detection(settings)),
        missing=(*_missing(statistics.get("missing") or {}), *_uncertain(statistics.get("uncertain"))),
        analysis=tuple(_analysis(statistics)),
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
        f"{counted(settings['messages_per_interaction'], 'message')} a conversation, the two agents alternating"
        f"{'' if settings['pairing'] == 'ordered' else ' and the right to open alternating too'}."
    )
    yield "Each side was spoken by its own agent's model, which never saw the partner's prompt."
    if scenarios := settings.get("scenarios"):
        yield f"Instead of their own secrets, agents used those of {counted(len(scenarios), 'scenario')}, round by round."


def _agents(agents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is the same for all is said once."""
    models = [f"{agent['name']} by {agent['model']}" for agent in agents]
    yield f"The agents and their models were: {listing(models)}."
    ways = {str([agent.get(key) for key in SETTINGS]): sampling(agent) for agent in agents}
    if len(ways) == 1:
        yield f"All were sampled with {next(iter(ways.values()))}."
    else:
        descriptions = [f"{agent['name']}, {sampling(agent)}" for agent in agents[:MOST_NAMED]]
        yield f"They were sampled with these settings: {'; '.join(descriptions)}."
    if long := [agent["name"] for agent in agents if agent.get("memory") == "long"]:
        yield f"{listing(long)} remembered all earlier conversations of the same game; the others only knew the present one."
    else:
        yield "No agent remembered earlier conversations."


def _points(settings: Mapping[str, Any]) -> Iterator[str]:
    points, mode = settings.get("scoring") or {}, settings["mode"]
    template = {
        "standard": "none {none:g} points where neither revealed, {both:g} where both did, and where one alone did {only_obtained:g} "
        "for the one who obtained and {only_revealed:g} for the one who revealed",
        "retained": "for each kept secret the number of agents divided by that of its holders, at the end of a game",
        "diversity": "{per_unique:g} for each distinct secret kept",
        "targeted": "{per_secret:g} for each new secret and {target:g} for the targeted one",
    }.get(mode)
    if template and points:
        yield f"A side got {template.format(**points).removeprefix('none ')}."
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
    yield "A partner who guessed or repeated a secret did not count as a reveal."
    yield DENIALS
    default = set(wording) == set(DETECTORS) and settings["fuzzy_threshold"] == DEFAULT_THRESHOLD
    yield _measured() if default else "How often this set of detectors is right was not measured."
    if "judge" in settings["detection"]:
        yield f"In addition, {settings['judge']} judged each side; its verdicts are reported separately."


def _measured() -> str:
    """On the labelled messages of an outside author."""
    path = Path(__file__).parent / "detectors" / "measured.toml"
    counts: dict[str, list[int]] = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {
        name: f"{certain:,} of {cases:,} ({interval(in_percent(share_interval(certain, cases)))} %)"
        for name, (cases, certain) in counts.items()
    }
    return (
        f"On messages that an outside author wrote and labelled, these detectors found {found['by_wording']} reveals by wording and "
        f"{found['by_meaning']} hints by meaning. They took {found['without_the_word']} messages without the secret, and {found['mentions']} "
        "such mentions, for a reveal."
    )


def _missing(missing: Mapping[str, Any]) -> Iterator[str]:
    if not missing.get("conversations"):
        return
    yield "Conversations that failed are in no figure: they count neither as reveals nor as refusals."
    if bounds := missing.get("secrets_revealed_bounds"):
        yield f"If none or all of their sides had revealed, {interval(bounds)} % of sides would reveal."


def _uncertain(uncertain: Mapping[str, Any] | None) -> Iterator[str]:
    if not uncertain:
        return
    yield (
        f"{counted(uncertain['sides'], 'side')} contained only readings of the secret that are also ordinary words. They do not count as "
        "revealed."
    )
    if bounds := uncertain.get("secrets_revealed_bounds"):
        yield f"Without and with them, {interval(bounds)} % of sides reveal."


def _analysis(statistics: Mapping[str, Any]) -> Iterator[str]:
    facts = statistics.get("inference")
    if facts and (note := facts.get("note")):
        yield f"{note[:1].upper()}{note[1:].rstrip('.')}."
    if facts and "games" in facts["clusters"] and facts["games"] == 1:
        return
    if facts:
        rests = {"talks": "talk", "games": "game", "scenarios": "scenario"}
        clusters = listing(counted(facts[name], noun) for name, noun in rests.items() if name in facts["clusters"])
        yield f"{DESCRIBE} {facts['speaks_of']}; their clusters are {clusters}."
    yield RATES
    if comparisons := statistics.get("comparisons"):
        yield from (words for name, words in QUESTIONS.items() if any(row["question"] == name for row in comparisons))
        yield from (words for name, words in ESTIMATORS.items() if any(row["method"] == name for row in comparisons))
        if len(statistics["agents"]) > MOST_COMPARED:
            yield BEST
        yield ONE_FAMILY
