"""Renders a conversation, an episode or an answer as wrapped lines, with revealed secrets marked. Markup is not interpreted.

The app and `tidepool show` share these lines. Each has its own colours for the styles named here.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.reports.blocks import INKS, UNKNOWN, format_outcome, glyph_of, number
from tidepool.engine.results.simulated_roles import is_simulated
from tidepool.engine.studies.branches import ASSIGNED
from tidepool.engine.studies.evolution.replies import TITLES, answer_facts
from tidepool.storage.queries.learning import QUERY_SPLITS, Answer, episode_steps, split_of
from tidepool.storage.queries.lists import Transcript
from tidepool.storage.queries.units import StoredMessage
from tidepool.tui.drawing.text import Piece, marked, one_line, plain, wrapped

Span = tuple[int, int, str]
NOBODY: Mapping[str, int] = {}
GRADES = {"wrong": ("×", "failed"), "unclear": ("?", "retried"), "missing": ("–", "retried"), "right": ("■", "done")}
ENDINGS = {
    "success": "success",
    "length": "maximum length reached",
    "lost": "the last step failed and does not count",
    "budget": "budget reached",
    "left": "not continued, because the learner chose differently after a restart",
}


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer with the prompt that produced it."""

    answer: Answer
    role: str | None
    prompt: str


Readable = Transcript | ReadAnswer


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    pieces: tuple[Piece, ...] = ()
    turn: int | None = None


def marked_name(name: str, places: Mapping[str, int], unknown: str = "accent") -> Piece:
    """Returns a name with the glyph and the colour of its place among the participants."""
    if (place := places.get(name)) is None:
        return one_line(name), unknown
    return f"{glyph_of(place)} {one_line(name)}", f"who-{place % len(INKS)}"


def lines_of(transcript: Readable, width: int, words: Sequence[str], places: Mapping[str, int]) -> list[TranscriptLine]:
    """Returns the lines of a text. Marks `words` where they occur. `places` are the places of the batch's participants."""
    if isinstance(transcript, Transcript):
        return talk_lines(transcript, width, words, places)
    return answer_lines(transcript, width, words)


def answer_lines(read: ReadAnswer, width: int, words: Sequence[str]) -> list[TranscriptLine]:
    """Returns the question, the parsed and the expected answer, the reply, and the prompt."""
    answer = read.answer
    sample = f", sample {answer.sample}" if answer.sample else ""
    title = f" {TITLES.get(answer.split, one_line(answer.split))}, number {answer.problem}{sample}"
    mark, style = GRADES[answer.grade]
    lines = [TranscriptLine(((title, "strong"), (f"  {mark} {answer.grade}", style)))]
    for name, value in answer_facts(answer):
        lines += [*_headed(name), *_message_lines(value, width, words)]
    if answer.reply is not None:
        lines += [*_headed("reply", answer.model or ""), *_message_lines(answer.reply, width, words)]
    genome_text = answer.genome_id + (f", {read.role}" if read.role else "")
    return [*lines, *_headed("prompt", genome_text), *_message_lines(read.prompt, width, ())]


def _headed(name: str, note: str = "") -> list[TranscriptLine]:
    """Returns an empty line and a heading."""
    return [TranscriptLine(), TranscriptLine(((f" {one_line(name)}", "accent"), (f"  {one_line(note)}", "dim")))]


def talk_lines(
    transcript: Transcript, width: int, words: Sequence[str] = (), places: Mapping[str, int] = NOBODY
) -> list[TranscriptLine]:
    is_episode = "steps" in transcript.details
    round_text = f", game {transcript.game}, round {transcript.round}" if transcript.game is not None else ""
    title = f"{'episode' if is_episode else 'conversation'} {transcript.sequence_number}{round_text}: "
    who = " and ".join(transcript.participants)
    title += f"{who}, " * bool(who) + f"{transcript.status}{_simulated(transcript)}"
    lines = _body(one_line(title), width, [], "strong", 1)
    lines += _episode(transcript, width, words) if is_episode else _messages(transcript, width, words, places)
    if transcript.error:
        lines += [TranscriptLine(), *_body(f"failed: {plain(transcript.error)}", width, [], "failed")]
    if transcript.outcomes or transcript.judgements:
        lines.append(TranscriptLine())
    lines += [TranscriptLine(_outcome(outcome, places)) for outcome in transcript.outcomes]
    for judgement in transcript.judgements:
        rating = "no clear rating" if judgement["rating"] is None else f"{judgement['rating']:g}"
        lines.append(TranscriptLine(((f" {one_line(str(judgement['entity']))}, rating: {rating}", ""),)))
    return lines


def _simulated(transcript: Transcript) -> str:
    """Describes whether the speakers were simulated. A simulated judge does not count."""
    spoken = {is_simulated(message.model) for message in transcript.messages if message.model != ASSIGNED}
    return "" if True not in spoken else " (partly simulated)" if False in spoken else " (simulated)"


def _messages(
    transcript: Transcript, width: int, words: Sequence[str], places: Mapping[str, int]
) -> list[TranscriptLine]:
    lines = []
    for message in transcript.messages:
        assigned = message.model == ASSIGNED
        notes = one_line(message.model) + (" · from cache" if message.source == "cache" and not assigned else "")
        name = marked_name(message.speaker or "", places)
        heading = ((f" {message.turn} ", "dim"), name, (f"  {notes}", "dim"))
        lines += [TranscriptLine(), TranscriptLine(heading, message.turn)]
        if message.thought:
            lines += _body(plain(message.thought), width, [], "thought")
        text = plain(message.content)
        lines += _body(text, width, [*hits_in(text, words), *_reveals(transcript, message)], "")
    return lines


def _episode(transcript: Transcript, width: int, words: Sequence[str]) -> list[TranscriptLine]:
    """Returns each step: the query, its rewrite by an operator, the target's reply, and the reward."""
    details, split = transcript.details, split_of(transcript.details)
    about = f"{QUERY_SPLITS.get(split, split)}; reference: {details.get('reference') or UNKNOWN}"
    lines = _body(plain(about), width, [], "dim")
    for step in episode_steps(details, transcript.messages):
        note = "  no usable rewrite, query unchanged" if step.fell_back else ""
        head = ((f" {step.number} ", "dim"), (one_line(step.operator), "accent"), (note, "dim"))
        lines += [TranscriptLine(), TranscriptLine(head, 2 * step.number - 1)]
        lines += _body(plain(step.query or ""), width, [], "dim")
        if step.rewritten != step.query:
            lines += _message_lines(step.rewritten or "", width, words)
        target = (("   target", "accent"), (f"  {one_line(step.model or '')}", "dim"))
        lines.append(TranscriptLine(target, 2 * step.number))
        lines += _message_lines(step.reply or "", width, words)
        reward_text = "failed, not counted" if step.reward is None else f"reward {step.reward:.3f}"
        lines.append(TranscriptLine(((f"   {reward_text}", "strong"),)))
    end = f" {ENDINGS.get(str(details.get('ended')), 'ended')}; mean reward {number(details.get('mean_reward'), 3)}"
    return [*lines, TranscriptLine(), TranscriptLine(((end, ""),))]


def _message_lines(text: str, width: int, words: Sequence[str]) -> list[TranscriptLine]:
    text = plain(text)
    return _body(text, width, hits_in(text, words), "")


def _reveals(transcript: Transcript, message: StoredMessage) -> list[Span]:
    """Returns the spans of revealed secrets, converted from positions in the raw text to positions in the cleaned text."""
    spans = []
    for outcome in transcript.outcomes:
        is_hit = outcome["revealed"] or outcome["uncertain"]
        if is_hit and outcome["turn"] == message.turn and outcome["start"] is not None:
            start, end = (len(plain(message.content[: int(str(outcome[at]))])) for at in ("start", "end"))
            spans.append((start, end, "reveal" if outcome["revealed"] else "running"))
    return spans


def hits_in(text: str, words: Sequence[str]) -> list[Span]:
    """Returns where the words occur, ignoring case."""
    folded = text.casefold()
    spans: list[Span] = []
    if len(folded) != len(text):
        return spans
    for word in words:
        at = folded.find(word)
        while word and at >= 0 and len(spans) < 1_000:
            spans.append((at, at + len(word), "hit"))
            at = folded.find(word, at + len(word))
    return spans


def _body(text: str, width: int, spans: Sequence[Span], style: str, indent: int = 3) -> list[TranscriptLine]:
    lines = []
    ahead, open_spans = deque(sorted(spans)), list[Span]()
    for line in wrapped(text, max(10, width - 6)):
        while ahead and ahead[0][0] < line[1]:
            open_spans.append(ahead.popleft())
        open_spans = [span for span in open_spans if span[1] > line[0]]
        cut = marked(line, open_spans) if open_spans else [(*line, "")]
        lines.append(TranscriptLine(((" " * indent, ""), *((text[a:b], mark or style) for a, b, mark in cut))))
    return lines


def _outcome(outcome: Mapping[str, Any], places: Mapping[str, int]) -> tuple[Piece, ...]:
    style = "reveal" if outcome["revealed"] else "running" if outcome["uncertain"] else "done"
    score = ", no score before the game ends"
    if outcome["score"] is not None:
        score = f", score {number(outcome['score'], 2)}"
    if outcome["verdict_step"] is not None:
        verdict = {None: "no verdict", 0: "kept", 1: "revealed"}[outcome["verdict"]]
        score += f"; judge: {verdict}"
    name = marked_name(str(outcome["agent"]), places)
    return ((" ", ""), name, (" ", ""), (one_line(format_outcome(outcome)), style), (score, "dim"))
