"""One unit to read: a conversation of any kind, a game with what came of it, an episode with its rewards."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tidepool.engine.branching.origin import ASSIGNED
from tidepool.engine.results.marks import glyph_of, places_of
from tidepool.engine.results.simulated_roles import is_simulated
from tidepool.engine.results.wording import gave, number
from tidepool.storage.queries.learning import QUERY_SPLITS, EpisodeStep, episode_steps, split_of
from tidepool.storage.queries.lists import Transcript
from tidepool.storage.queries.units import StoredMessage
from tidepool.tui.drawing.blocks import COLOURS
from tidepool.tui.drawing.figures import mark_ink
from tidepool.tui.drawing.plain import one_line, plain, shortened

MOST_SHOWN = 50_000
"""characters of one message: more than anybody reads here, and laying out millions takes minutes"""


def print_transcript(out: Console, kind: str, talk: Transcript, people: Sequence[str] = ()) -> None:
    """`people` are all who take part in the batch, by which each has a colour and a glyph."""
    places = places_of(people)
    if kind == "mutation":
        _episode(out, talk, _label(talk))
    else:
        (_game if kind == "secret_game" else _any)(out, talk, _label(talk), places)


def _label(talk: Transcript) -> str:
    """By who spoke: a judge that is simulated makes no talk a simulated one."""
    spoken = {is_simulated(message.model) for message in talk.messages if message.model != ASSIGNED}
    return "" if True not in spoken else " (partly simulated)" if False in spoken else " (simulated)"


def _any(out: Console, talk: Transcript, label: str, places: Mapping[str, int]) -> None:
    where = f", game {talk.game}, round {talk.round}" if talk.game is not None else ""
    title = f"conversation {talk.sequence_number}{where}: {' and '.join(talk.participants)}, {talk.status}{label}"
    out.print(Text(one_line(title), style="bold"))
    for message in talk.messages:
        out.print()
        out.print(_spoken(message, places))
        if message.thought:
            out.print(Text(f"*{shortened(message.thought, MOST_SHOWN)}*", style="italic"))
        out.print(_marked(message.content))
    if talk.error:
        out.print(Text(f"\nfailed: {shortened(talk.error)}", style="red"))
    for outcome in talk.outcomes:
        out.print(Text(one_line(f"{outcome['agent']} {gave(outcome)}, score {outcome['score']}")))
    for judgement in talk.judgements:
        rating = "no clear rating" if judgement["rating"] is None else f"{judgement['rating']:g}"
        out.print(Text(f"\n{one_line(str(judgement['entity']))} is judged: {rating}"))


def _game(out: Console, talk: Transcript, label: str, places: Mapping[str, int]) -> None:
    names = " and ".join(talk.participants)
    title = f"conversation {talk.sequence_number}, game {talk.game}, round {talk.round}: {names}, {talk.status}{label}"
    out.print(Text(one_line(title), style="bold"))
    spans = {outcome["turn"]: outcome for outcome in talk.outcomes if outcome["revealed"] or outcome["uncertain"]}
    for message in talk.messages:
        out.print()
        out.print(_spoken(message, places))
        out.print(_marked(message.content, spans.get(message.turn)))
    out.print()
    if talk.error:
        out.print(Text(f"failed: {shortened(talk.error)}", style="red"))
    for outcome in talk.outcomes:
        out.print(Text(one_line(_came_to(outcome))))


def _spoken(message: StoredMessage, places: Mapping[str, int]) -> Text:
    place = places.get(message.speaker or "")
    name = one_line(message.speaker) if place is None else f"{glyph_of(place)} {one_line(message.speaker)}"
    ink = "" if place is None else mark_ink(place, COLOURS)
    assigned = " (assigned)" if message.model == ASSIGNED else ""
    return Text.assemble(f"{message.turn}. ", (name, ink), assigned, style="bold")


def _marked(text: str, outcome: dict[str, Any] | None = None) -> Text:
    """What gave the secret away, marked. Its place is that in the text as it was said, before it is made plain."""
    start, end = (outcome["start"], outcome["end"]) if outcome else (0, 0)
    start, end = (start, end) if isinstance(start, int) and isinstance(end, int) else (0, 0)
    before, marked, after = text[:MOST_SHOWN][:start], text[:MOST_SHOWN][start:end], text[end:]
    return Text.assemble(plain(before), (plain(marked), "reverse"), shortened(after, MOST_SHOWN))


def _came_to(outcome: dict[str, Any]) -> str:
    name, how = outcome["agent"], gave(outcome)
    score = "score open until the game ends" if outcome["score"] is None else f"score {number(outcome['score'], 2)}"
    if outcome["verdict_step"] is None:
        return f"{name} {how}, {score}"
    verdict = {None: "no verdict", 0: "kept", 1: "revealed"}[outcome["verdict"]]
    return f"{name} {how}, {score}; judge: {verdict}"


ENDINGS = {
    "success": "ended well",
    "length": "its length was used up",
    "lost": "the last step was lost and does not count",
    "budget": "the budget was used up",
    "left": "its learner went another way when it was started again",
}


def _episode(out: Console, episode: Transcript, label: str) -> None:
    details = episode.details
    who = " and ".join(episode.participants)
    split = QUERY_SPLITS.get(split_of(details), split_of(details))
    out.print(
        Text(one_line(f"episode {episode.sequence_number}, {split}, {who}, {episode.status}{label}"), style="bold")
    )
    if not details:
        out.print(Text("under way: rewards are told when it has ended"))
    else:
        kind = f" ({details['kind']})" if details.get("kind") else ""
        out.print(Text(shortened(f"query{kind}: {details.get('query', '')}", MOST_SHOWN)))
        if details.get("reference"):
            out.print(Text(shortened(f"reference: {details['reference']}", MOST_SHOWN), style="dim"))
    for step in episode_steps(details, episode.messages):
        _print_step(out, step)
    if details:
        score = number(details.get("mean_reward"), 3)
        out.print(Text(f"\n{ENDINGS.get(str(details.get('ended')), 'ended')}; mean reward {score}"))


def _print_step(out: Console, step: EpisodeStep) -> None:
    fell_back = " (fell back: no usable rewrite)" if step.fell_back else ""
    out.print()
    out.print(Text(one_line(f"{step.number}. {step.operator}{fell_back}"), style="bold"))
    said = {"query": step.query, "rewritten": step.rewritten if step.rewritten != step.query else None}
    for name, text in {**said, "target": step.reply}.items():
        if text is not None:
            out.print(Text(f"{name}: ", style="bold") + Text(shortened(text, MOST_SHOWN), style="not bold"))
    if step.ended:
        out.print(Text("lost: masked" if step.reward is None else f"reward {step.reward:.3f}", style="dim"))
