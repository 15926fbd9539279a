"""The providers, one line each, and the models of one of them with what they cost and how long they will live."""

from collections.abc import Sequence

from tidepool.engine.providers.model_list import ListedModel
from tidepool.tui.app.provider_view.cards import GLYPHS, Card, price_words, state_of
from tidepool.tui.app.widgets.rows import Piece, Rows
from tidepool.tui.drawing.text import fitted, one_line


class ProviderList(Rows):
    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.cards: list[Card] = []

    @property
    def current(self) -> Card | None:
        return self.cards[self.cursor] if self.cursor < len(self.cards) else None

    def show(self, cards: Sequence[Card]) -> None:
        self.cards = list(cards)
        self.set_count(len(self.cards))
        self.touch_all()

    def draw_header(self, width: int) -> Sequence[Piece]:
        where = _room(width)
        return [(f"   {fitted('provider', 11)}{fitted('key', 12)}{fitted('address', where)} {fitted('state', 24)}", "")]

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        card = self.cards[index]
        words, colour = state_of(card)
        key = card.key_state
        where = one_line(card.listed.where) if card.listed else "…"
        return [
            (f" {GLYPHS[colour]} ", colour),
            (fitted(card.title, 11), "strong"),
            (fitted(key, 12), "done" if key == "present" else "dim"),
            (fitted(where, _room(width)) + " ", "dim"),
            (fitted(words, 24), "dim" if colour == "waiting" else colour),
        ]


def _room(width: int) -> int:
    return max(10, min(50, width - 3 - 11 - 12 - 1 - 24))


class ModelTable(Rows):
    """Dollars for a million tokens, live and by the batch API."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.models: list[ListedModel] = []
        self._asking = False
        self._batches = True

    @property
    def current(self) -> ListedModel | None:
        return self.models[self.cursor] if self.cursor < len(self.models) else None

    def show(self, models: Sequence[ListedModel], card: Card) -> None:
        self._asking, self._batches = card.asking, card.has_batches
        here = self.current.name if self.current else None
        if list(models) != self.models:
            self.models = list(models)
            self.set_count(len(self.models))
            self.go_to(next((place for place, model in enumerate(models) if model.name == here), 0))
        self.touch_all()

    def empty_text(self) -> str:
        return "asking …" if self._asking else "no models to show"

    def draw_header(self, width: int) -> Sequence[Piece]:
        name, presets = _widths(width)
        live = f"{fitted('$/M in', 9, right=True)}{fitted('out', 9, right=True)}"
        batch = f"{fitted('batch in', 10, right=True)}{fitted('out', 9, right=True)}"
        return [(f" {fitted('model', name)}{live}{batch}  {fitted('until', 10)} {fitted('presets', presets)}", "")]

    def draw(self, index: int, width: int) -> Sequence[Piece]:
        model = self.models[index]
        name, presets = _widths(width)
        live = (model.input_usd, model.output_usd)
        batch = [price_words(price) for price in (model.batch_input_usd, model.batch_output_usd)]
        if not self._batches:
            batch = ["–", "–"]
        return [
            (f" {fitted(one_line(model.name), name)}", ""),
            ("".join(fitted(price_words(price), 9, right=True) for price in live), _colour(model.input_usd)),
            (fitted(batch[0], 10, right=True) + fitted(batch[1], 9, right=True), "dim"),
            (f"  {fitted(one_line(model.retires or ''), 10)} ", "mark"),
            (fitted(", ".join(model.presets), presets), "accent"),
        ]


def _colour(price: float | None) -> str:
    return "dim" if price is None else ""


def _widths(width: int) -> tuple[int, int]:
    room = max(20, width - 1 - 18 - 19 - 13)
    presets = min(22, room // 3)
    return room - presets, presets
