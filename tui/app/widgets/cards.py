"""An empty place says what to do: a sentence, and a card for each thing that can be done, one key or click away."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static


@dataclass(frozen=True, slots=True)
class ActionCard:
    key: str
    title: str
    text: str
    action: str


class CardView(Static):
    def __init__(self, card: ActionCard) -> None:
        super().__init__(
            Content.assemble(
                (f" {card.key} ", "bold $text on $primary-muted"),
                (f"  {card.title}", "bold"),
                (f"\n     {card.text}", "$quiet"),
            )
        )
        self.card = card

    async def on_click(self) -> None:
        await self.run_action(self.card.action)


class Cards(Vertical):
    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._shown: tuple[str, Sequence[ActionCard]] = ("", ())
        self.display = False

    def show(self, sentence: str, cards: Sequence[ActionCard]) -> None:
        if self._shown != (sentence, cards):
            self._shown = (sentence, cards)
            self.call_next(self._fill)

    async def _fill(self) -> None:
        sentence, cards = self._shown
        await self.remove_children()
        await self.mount_all([Static(Content(sentence)), *map(CardView, cards)])
