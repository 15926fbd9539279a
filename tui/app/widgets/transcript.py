"""One conversation, or one answer, as it was said: wrapped, never interpreted, with what gave a secret away marked."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.branching.talks import ASSIGNED
from tidepool.engine.results.blocks import UNKNOWN
from tidepool.engine.studies.evolution.replies import TITLES, answer_facts
from tidepool.storage.queries.learning import QUERY_SPLITS, Answer, episode_steps, split_of
from tidepool.storage.queries.lists import Transcript
from tidepool.storage.queries.units import StoredMessage
from tidepool.tui.app.transcript_sources import MARKS, Readable, ReadAnswer
from tidepool.tui.app.widgets.rows import Piece, TextRows, marked_name
from tidepool.tui.drawing.text import marked, one_line, plain, wrapped

Span = tuple[int, int, str]
NOBODY: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    pieces: tuple[Piece, ...]
    turn: int | None = None


class TranscriptPane(TextRows):
    COMPONENT_CLASSES = {"rows--thought"}

    def __init__(self, *, id: str | None = None, empty: str = "choose a conversation") -> None:
        super().__init__(id=id, empty=empty)
        self._talk: Readable | None = None
        self._words: tuple[str, ...] = ()
        self._turns: list[int | None] = []
        """of the lines: the turn that begins there, if one does"""
        self.places: Mapping[str, int] = {}
        """of those who take part in the batch: each has a colour and a glyph, the same in every talk"""

    @property
    def talk(self) -> Transcript | None:
        return self._talk if isinstance(self._talk, Transcript) else None

    @property
    def answer(self) -> Answer | None:
        return self._talk.answer if isinstance(self._talk, ReadAnswer) else None

    def show(self, talk: Readable | None, words: Sequence[str] = (), turn: int | None = None) -> None:
        """`words` are marked where they occur; `turn` is brought into view."""
        if talk == self._talk and tuple(words) == self._words and turn is None:
            return
        same = talk and self._talk and _place(talk) == _place(self._talk)
        self._talk, self._words = talk, tuple(words)
        self.follows_end = bool(same)
        self.lay_out()
        if turn in self._turns and turn is not None:
            self.call_after_refresh(self.scroll_to, y=self._turns.index(turn), animate=False)
        elif turn is None and not same:
            self.scroll_home(animate=False)

    def copied(self) -> str:
        """The message at the top of what is in view; of anything but a talk, what is in view."""
        first = self.rows_in_view[0]
        if (talk := self.talk) is None or not talk.messages or first >= len(self.lines):
            return super().copied()
        turns = [turn for turn in self._turns[first:] if turn is not None]
        return next((one.content for one in talk.messages if turns and one.turn == turns[0]), talk.messages[-1].content)

    def laid_out(self, width: int) -> list[Sequence[Piece]]:
        lines = [] if self._talk is None else lines_of(self._talk, width, self._words, self.places)
        self._turns = [line.turn for line in lines]
        return [line.pieces for line in lines]


def _place(talk: Readable) -> object:
    """What tells it from others, however much it grows."""
    if isinstance(talk, Transcript):
        return talk.sequence_number
    answer = talk.answer
    return answer.conversation, answer.split, answer.problem, answer.sample, answer.model


def lines_of(
    talk: Readable, width: int, words: Sequence[str] = (), places: Mapping[str, int] = NOBODY
) -> list[TranscriptLine]:
    if isinstance(talk, Transcript):
        return talk_lines(talk, width, words, places)
    return answer_lines(talk, width, words)


def answer_lines(read: ReadAnswer, width: int, words: Sequence[str] = ()) -> list[TranscriptLine]:
    """The question, what was answered and what is right, the reply, and the prompt that it was given by."""
    answer = read.answer
    sample = f", sample {answer.sample}" if answer.sample else ""
    title = f" {TITLES.get(answer.split, one_line(answer.split))}, number {answer.problem}{sample}"
    mark, style = MARKS[answer.grade]
    lines = [TranscriptLine(((title, "strong"), (f"  {mark} {answer.grade}", style)))]
    for name, value in answer_facts(answer):
        lines += [*_headed(name), *_message_lines(value, width, words)]
    if answer.reply is not None:
        lines += [*_headed("reply", answer.model or ""), *_message_lines(answer.reply, width, words)]
    genome_text = answer.genome_id + (f", {read.role}" if read.role else "")
    lines += [*_headed("prompt", genome_text), *_message_lines(read.prompt, width, ())]
    return lines


def _headed(name: str, note: str = "") -> list[TranscriptLine]:
    """A heading below an empty line."""
    return [TranscriptLine(()), TranscriptLine(((f" {one_line(name)}", "accent"), (f"  {one_line(note)}", "dim")))]


def talk_lines(
    talk: Transcript, width: int, words: Sequence[str] = (), places: Mapping[str, int] = NOBODY
) -> list[TranscriptLine]:
    round_text = f", game {talk.game} round {talk.round}" if talk.game is not None else ""
    title = f" {talk.sequence_number:,}{round_text} · {' and '.join(map(one_line, talk.participants))}"
    lines = [TranscriptLine(((title, "strong"),))]
    lines += _episode(talk, width, words) if "steps" in talk.details else _messages(talk, width, words, places)
    if talk.error:
        lines.append(TranscriptLine(()))
        lines += _body(f"failed: {plain(talk.error)}", width, [], "failed")
    if talk.outcomes:
        lines.append(TranscriptLine(()))
        lines += [TranscriptLine(_outcome(outcome, places)) for outcome in talk.outcomes]
    return lines


def _messages(talk: Transcript, width: int, words: Sequence[str], places: Mapping[str, int]) -> list[TranscriptLine]:
    lines = []
    for message in talk.messages:
        lines.append(TranscriptLine(()))
        lines.append(TranscriptLine(_heading(message, places), message.turn))
        if message.thought:
            lines += _body(plain(message.thought), width, [], "thought")
        lines += _body(*_content(talk, message, words, width))
    return lines


def _episode(talk: Transcript, width: int, words: Sequence[str]) -> list[TranscriptLine]:
    """Step by step: the query as it was, what an operator made of it, what the target said, what that was worth."""
    split = split_of(talk.details)
    lines = _body(
        f"{QUERY_SPLITS.get(split, plain(split))}; reference: {plain(str(talk.details.get('reference') or UNKNOWN))}",
        width,
        [],
        "dim",
    )
    for step in episode_steps(talk.details, talk.messages):
        note = "  no usable rewrite: the query as it was" if step.fell_back else ""
        head = ((f" {step.number} ", "dim"), (one_line(step.operator), "accent"), (note, "dim"))
        lines += [TranscriptLine(()), TranscriptLine(head, 2 * step.number - 1)]
        lines += _body(plain(step.query or ""), width, [], "dim")
        if step.rewritten != step.query:
            lines += _message_lines(step.rewritten or "", width, words)
        target = (("   target", "accent"), (f"  {one_line(step.model or '')}", "dim"))
        lines.append(TranscriptLine(target, 2 * step.number))
        lines += _message_lines(step.reply or "", width, words)
        reward_text = "lost: masked" if step.reward is None else f"reward {step.reward:.3f}"
        lines.append(TranscriptLine(((f"   {reward_text}", "strong"),)))
    return lines


def _message_lines(text: str, width: int, words: Sequence[str]) -> list[TranscriptLine]:
    text = plain(text)
    return _body(text, width, _hits(text, words), "")


def _heading(message: StoredMessage, places: Mapping[str, int]) -> tuple[Piece, ...]:
    cached = message.source == "cache" and message.model != ASSIGNED
    notes = one_line(message.model) + (" · from the cache" if cached else "")
    return ((f" {message.turn} ", "dim"), marked_name(message.speaker or "", places), (f"  {notes}", "dim"))


def _content(
    talk: Transcript, message: StoredMessage, words: Sequence[str], width: int
) -> tuple[str, int, list[Span], str]:
    """The text made plain, with its marks. Spans of the raw text are moved to where they are in the plain one."""
    text = plain(message.content)
    spans = _hits(text, words)
    for outcome in talk.outcomes:
        is_hit = outcome["revealed"] or outcome["uncertain"]
        if is_hit and outcome["turn"] == message.turn and outcome["start"] is not None:
            start, end = int(str(outcome["start"])), int(str(outcome["end"]))
            mark = "reveal" if outcome["revealed"] else "running"
            spans.append((len(plain(message.content[:start])), len(plain(message.content[:end])), mark))
    return text, width, spans, ""


def _hits(text: str, words: Sequence[str]) -> list[Span]:
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


def _body(text: str, width: int, spans: Sequence[Span], style: str) -> list[TranscriptLine]:
    lines = []
    ahead, open_spans = deque(sorted(spans)), list[Span]()
    for line in wrapped(text, max(10, width - 6)):
        while ahead and ahead[0][0] < line[1]:
            open_spans.append(ahead.popleft())
        open_spans = [span for span in open_spans if span[1] > line[0]]
        cut = marked(line, open_spans) if open_spans else [(*line, "")]
        lines.append(TranscriptLine((("   ", ""), *((text[a:b], mark or style) for a, b, mark in cut))))
    return lines


def _outcome(outcome: dict[str, object], places: Mapping[str, int]) -> tuple[Piece, ...]:
    name, how = marked_name(str(outcome["agent"]), places), one_line(str(outcome["detector"]))
    score = f", score {outcome['score']:g}" if isinstance(outcome["score"], int | float) else ""
    place_text = f" in message {outcome['turn']} ({how})"
    verdict, note = ("kept the secret", "done"), score
    if outcome["revealed"]:
        verdict, note = ("gave the secret away", "reveal"), f"{place_text}{score}"
    elif outcome["uncertain"]:
        verdict, note = (
            ("may have given the secret away", "running"),
            f"{place_text}, which is an ordinary word as well{score}",
        )
    return ((" ", ""), name, (" ", ""), verdict, (note, "dim"))
