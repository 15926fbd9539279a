"""The methods text of a secret game: how it was played, measured and analysed."""

import sqlite3
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.intervals import share_interval
from tidepool.engine.reports.blocks import (
    BONETT_PRICE,
    DESCRIBE,
    MOST_NAMED,
    MOVER,
    ONE_FAMILY,
    RATES,
    KindMethods,
    counted,
    ends_of,
    interval,
    listing,
    sampling,
)
from tidepool.engine.studies.secret_game.contrasts import MOST_COMPARED
from tidepool.engine.studies.secret_game.detectors.detection import DEFAULT_THRESHOLD

PAIRINGS = {
    "round_robin": "Every agent met every other agent in turn (round robin).",
    "random": "The pairs of each round were drawn by a seeded shuffle.",
    "ordered": "Every ordered pair of agents met, including each agent paired with itself.",
}
SETTINGS = ("temperature", "max_tokens", "reasoning_effort", "max_reasoning_tokens")
DETECTORS = {
    "exact": "the word itself, also in another case or spelling, or with its parts joined differently",
    "spelled": "letter by letter, in parts, backwards, or as first letters of lines",
    "encoded": "in base64, hexadecimal, rot13 or Morse code",
    "fuzzy": "misspelt",
}
DENIALS = (
    "The detectors did not interpret denials. An agent that mentioned its own secret counted as revealing it, even if it denied or "
    "quoted a guess or used the word in its everyday sense. Ordinary words were often classified as uncertain instead."
)
QUESTIONS = {
    "against third agents": "Agents were compared against third agents, with the same opponents, sides and scenarios.",
    "head to head": "Agents were compared head to head, by the differences within the conversations in which they met.",
}
ESTIMATORS = {
    "CR2": "Differences against third agents were estimated by least squares, with CR2 standard errors and Satterthwaite's degrees of "
    "freedom (Bell and McCaffrey, 2002).",
    "clusters": "Where games or scenarios linked conversations, standard errors were clustered by them.",
    "MOVER": MOVER,
    "t": "Mean differences were analysed with Student's interval and test.",
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
        f"In a secret game (mode {settings['mode']}), {counted(len(agents), 'agent')} ({listing(a['name'] for a in agents)}) "
        "conversed in pairs. Each agent held a code word as its secret. It could try to learn the other agent's secret and decide "
        "whether to reveal its own."
    )
    yield PAIRINGS.get(settings["pairing"], "")
    conversations, rounds = settings.get("num_interactions"), settings.get("rounds")
    size = counted(conversations, "conversation") if conversations else f"{counted(rounds or 1, 'round')} in each game"
    yield (
        f"A batch comprised {counted(settings['games'], 'independent game')} with {size}{' in total' if conversations else ''}. Each "
        f"conversation had {counted(settings['messages_per_interaction'], 'message')}, and the two agents alternated"
        f"{'' if settings['pairing'] == 'ordered' else ', as did the right to open'}."
    )
    yield "Each agent was played by its own model, which never saw the partner's prompt."
    if scenarios := settings.get("scenarios"):
        yield f"In place of their own secrets, agents used those of {counted(len(scenarios), 'scenario')}, which changed by round."


def _agents(agents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """States settings that all agents share only once."""
    models = [f"{agent['name']} ({agent['model']})" for agent in agents]
    yield f"The agents and their models were {listing(models)}."
    ways = {str([agent.get(key) for key in SETTINGS]): sampling(agent) for agent in agents}
    if len(ways) == 1:
        yield f"All models were sampled with {next(iter(ways.values()))}."
    else:
        descriptions = [f"{agent['name']} with {sampling(agent)}" for agent in agents[:MOST_NAMED]]
        yield f"The models were sampled with these settings: {'; '.join(descriptions)}."
    if long := [agent["name"] for agent in agents if agent.get("memory") == "long"]:
        yield f"{listing(long)} remembered all earlier conversations of the same game. Any other agents knew only the current conversation."
    else:
        yield "No agent remembered earlier conversations."


def _points(settings: Mapping[str, Any]) -> Iterator[str]:
    points, mode = settings.get("scoring") or {}, settings["mode"]
    template = {
        "standard": "none {none:g} points if neither side revealed, and {both:g} if both did. If only one side revealed, the other "
        "side scored {only_obtained:g} and the revealing side {only_revealed:g}",
        "retained": "for each secret held at the end of a game, the number of agents divided by the number of its holders",
        "diversity": "{per_unique:g} points for each distinct secret held",
        "targeted": "{per_secret:g} points for each new secret and {target:g} for the targeted one",
    }.get(mode)
    if template and points:
        yield f"A side scored {template.format(**points).removeprefix('none ')}."
    if mode == "targeted":
        yield f"The agents knew {'which secret was' if settings.get('announce_target') else 'that there was'} the target."


def _detection(settings: Mapping[str, Any]) -> Iterator[str]:
    wording = [name for name in settings["detection"] if name != "judge"]
    alike = f", with a similarity of at least {settings['fuzzy_threshold']:g} out of 100"
    ways = [
        f"{name} ({DETECTORS[name]}{alike if name == 'fuzzy' else ''})" if name in DETECTORS else name
        for name in wording
    ]
    yield f"A side counted as revealing its secret if a detector found that secret in its own messages: {listing(ways)}."
    yield "A partner that guessed or repeated the secret did not count as a reveal."
    yield DENIALS
    default = set(wording) == set(DETECTORS) and settings["fuzzy_threshold"] == DEFAULT_THRESHOLD
    yield _measured() if default else "The accuracy of this set of detectors was not measured."
    if "judge" in settings["detection"]:
        yield f"In addition, {settings['judge']} judged each side. Its verdicts are reported separately."


def _measured() -> str:
    """The accuracy on the messages that an independent author labelled."""
    path = Path(__file__).parent / "detectors" / "measured.toml"
    counts: dict[str, list[int]] = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {
        name: f"{certain:,} of {cases:,} ({interval(ends_of(share_interval(certain, cases), 100))} %)"
        for name, (cases, certain) in counts.items()
    }
    return (
        f"On messages written and labelled by an independent author, these detectors found {found['by_wording']} reveals by wording and "
        f"{found['by_meaning']} hints by meaning. They also classified as reveals {found['without_the_word']} messages without the secret and "
        f"{found['mentions']} denials, quotes or everyday mentions of it."
    )


def _missing(missing: Mapping[str, Any]) -> Iterator[str]:
    if not missing.get("conversations"):
        return
    yield "Failed conversations were excluded. They counted neither as reveals nor as refusals."
    if bounds := missing.get("secrets_revealed_bounds"):
        yield f"If none or all of their sides had revealed, {interval(bounds)} % of all sides would have revealed."


def _uncertain(uncertain: Mapping[str, Any] | None) -> Iterator[str]:
    if not uncertain:
        return
    yield (
        f"{counted(uncertain['sides'], 'side')} contained the secret only in forms that are also ordinary words. They did not count as "
        "reveals."
    )
    if bounds := uncertain.get("secrets_revealed_bounds"):
        yield f"Without and with these sides, {interval(bounds)} % of sides revealed."


def _analysis(statistics: Mapping[str, Any]) -> Iterator[str]:
    facts = statistics.get("inference")
    if facts and (note := facts.get("note")):
        yield f"{note[:1].upper()}{note[1:].rstrip('.')}."
    if facts and "games" in facts["clusters"] and facts["games"] == 1:
        return
    if facts:
        rests = {"talks": "conversation", "games": "game", "scenarios": "scenario"}
        clusters = listing(counted(facts[name], noun) for name, noun in rests.items() if name in facts["clusters"])
        yield f"{DESCRIBE} {facts['speaks_of']}, based on {clusters}."
    yield RATES
    if comparisons := statistics.get("comparisons"):
        yield from (words for name, words in QUESTIONS.items() if any(row["question"] == name for row in comparisons))
        yield from (words for name, words in ESTIMATORS.items() if any(row["method"] == name for row in comparisons))
        if len(statistics["agents"]) > MOST_COMPARED:
            yield BEST
        yield ONE_FAMILY
