"""The pane with one conversation, episode or answer."""

from collections.abc import Mapping, Sequence

from tidepool.storage.queries.learning import Answer
from tidepool.storage.queries.lists import Transcript
from tidepool.tui.app.widgets.rows import Piece, TextRows
from tidepool.tui.drawing.transcript import Readable, ReadAnswer, lines_of


class TranscriptPane(TextRows):
    COMPONENT_CLASSES = {"rows--thought"}
    empty = "choose a conversation"
    _talk: Readable | None = None
    _words: tuple[str, ...] = ()
    _turns: Sequence[int | None] = ()
    """for each line, the turn that begins there, if any"""
    places: Mapping[str, int] = {}
    """places of the participants, which determine their glyphs and colours in all conversations"""

    @property
    def talk(self) -> Transcript | None:
        return self._talk if isinstance(self._talk, Transcript) else None

    @property
    def answer(self) -> Answer | None:
        return self._talk.answer if isinstance(self._talk, ReadAnswer) else None

    def show(self, talk: Readable | None, words: Sequence[str] = (), turn: int | None = None) -> None:
        """Shows a text. Marks `words` where they occur, and scrolls to `turn`."""
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
        """Returns the message at the top of the view. Without messages, returns the visible text."""
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
    """Returns a key that stays the same while the text grows."""
    if isinstance(talk, Transcript):
        return talk.sequence_number
    answer = talk.answer
    return answer.conversation, answer.split, answer.problem, answer.sample, answer.model
