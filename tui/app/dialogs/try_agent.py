"""One message to an agent, and what it answers. Each message stands alone; nothing is kept."""

from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from tidepool.engine.config.sections import Agent, Providers
from tidepool.engine.errors import TidepoolError
from tidepool.engine.single_call import Price, SingleAnswer, ask_once, price_of, trial_call
from tidepool.engine.trust.gate import servers_to_ask_about
from tidepool.tui.app.dialogs.dialog import Dialog
from tidepool.tui.app.provider_tasks import errand
from tidepool.tui.app.shutdown import while_open
from tidepool.tui.app.widgets.reading import Passage, ReadingPane
from tidepool.tui.app.widgets.text_line import TextLine
from tidepool.tui.drawing.text import at_most, dollars, one_line, shortened, span


@dataclass(frozen=True, slots=True)
class Exchange:
    asked: str
    said: SingleAnswer | None = None
    fault: str = ""


class TryDialog(Dialog[None]):
    BINDINGS = [Binding("ctrl+s", "send", "Send", priority=True)]
    CSS_PATH = ["../screens/compose.tcss", "../screens/library.tcss"]
    AUTO_FOCUS = "#message"

    def __init__(self, agent: Agent, providers: Providers) -> None:
        super().__init__()
        self._agent, self._providers = agent, providers
        self._exchanges: list[Exchange] = []
        self._waiting = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -form -try") as box:
            box.border_title = Content(f"Try {one_line(self._agent.name)}")
            yield Static("", id="price", classes="note")
            yield ReadingPane(id="answers", empty="what it answers will stand here")
            yield TextLine(placeholder="say something to it", id="message", compact=True)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Send (enter)", id="send", variant="primary")
                yield Button("Close", id="close")

    def on_mount(self) -> None:
        self._tell_price()

    @work(exclusive=True, group="price")
    async def _tell_price(self) -> None:
        try:
            call = trial_call(self._agent, "x" * 200)
            price = await errand(lambda: price_of(call, self._providers))
            provider = call.model.partition(":")[0]
            strangers = servers_to_ask_about(provider, self._providers.section(provider))
        except TidepoolError as error:
            told = Content.styled(shortened(str(error)), "$state-failed")
        else:
            where = "".join(f"\nIt is asked at {one.in_words}, as the study in Compose says." for one in strangers[:3])
            told = price_told(price, secret=bool(self._agent.secret)) + Content(where)
        with while_open(self.app):
            self.query_one("#price", Static).update(told)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_send()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "send":
            self.action_send()
        else:
            self.action_leave()

    def action_send(self) -> None:
        """One at a time: a second press while one is under way would buy twice."""
        message = self.query_one("#message", Input).value.strip()
        if message and not self._waiting:
            self._send(message)

    @work(group="send")
    async def _send(self, message: str) -> None:
        self._waiting = True
        place = len(self._exchanges)
        self._show(Exchange(message))
        try:
            call = trial_call(self._agent, message)
            said = await errand(lambda: ask_once(call, place, self._providers))
            ended = Exchange(message, said)
        except TidepoolError as error:
            ended = Exchange(message, fault=str(error))
        finally:
            self._waiting = False
        self._exchanges[place] = ended
        with while_open(self.app):
            self._show()

    def _show(self, more: Exchange | None = None) -> None:
        if more is not None:
            self._exchanges.append(more)
        passages = [passage for exchange in self._exchanges for passage in exchange_told(self._agent.name, exchange)]
        self.query_one(ReadingPane).show(passages, at_end=True)


def price_told(price: Price, *, secret: bool) -> Content:
    """Which model will answer, and what that costs, before anything is sent."""
    asked = "asked as in the secret game, by a visitor" if secret else "asked as itself, with its instructions"
    where = Content.assemble((one_line(price.model), "bold"), f" · {asked}")
    if price.simulated:
        return Content.assemble(where, "\n", ("simulated answers: offline, free", "$accent"))
    if price.free:
        return Content.assemble(where, "\n", ("a model of your own: free", "$accent"))
    return Content.assemble(where, "\n", (f"each message you send is bought, {at_most(price.most_usd)}", "$warning"))


def exchange_told(name: str, exchange: Exchange) -> list[Passage]:
    passages = [Passage("you", "accent"), Passage(exchange.asked)]
    if exchange.fault:
        return [*passages, Passage("no answer", "failed"), Passage(exchange.fault, "failed"), Passage("")]
    if exchange.said is None:
        return [*passages, Passage("waiting for the answer …", "running"), Passage("")]
    said = exchange.said
    spoken = said.text if said.text.strip() else "(it said nothing)"
    cost = "free" if said.cost_usd == 0 else "price unknown" if said.cost_usd is None else dollars(said.cost_usd)
    label = "simulated answer" if said.simulated else said.model
    notes = [Passage(notice, "retried") for notice in said.notices]
    facts = f"{label} · {span(said.seconds)} · {said.input_tokens} + {said.output_tokens} tokens · {cost}"
    heading = Passage(name, "accent")
    return [
        *passages,
        heading,
        Passage(facts, "mark" if said.simulated else "dim"),
        Passage(spoken),
        *notes,
        Passage(""),
    ]
