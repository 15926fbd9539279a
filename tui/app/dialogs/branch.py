"""Branch a conversation from one message: ask how, plan it, confirm, write it down, start it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Checkbox, Input, Label, Select

from tidepool.engine.branching.making import FEW, MANY, BranchSpec, new_branch, steps_of
from tidepool.engine.studies.branches import MOST_TIMES
from tidepool.storage.queries.lists import Transcript
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app import launching
from tidepool.tui.app.dialogs.basic import Confirm, Dialog, buttons, fault_line, frame
from tidepool.tui.app.widgets.frame import TextLine
from tidepool.tui.drawing.text import one_line

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

LONGEST = 60


class BranchDialog(Dialog[BranchSpec]):
    """Answers what is wished; whether it can be is looked at afterwards."""

    AUTO_FOCUS = "#say"

    def __init__(self, batch_id: str, conversation: int, messages: Sequence[tuple[str, str, str]]) -> None:
        """`messages` are those of the talk: step, speaker, words."""
        super().__init__()
        self._batch, self._conversation = batch_id, conversation
        self._choices = [
            (Content(one_line(f"{step}  {speaker}: {words}", LONGEST)), step) for step, speaker, words in messages
        ]

    def compose(self) -> ComposeResult:
        middle = self._choices[len(self._choices) // 2][1]
        with frame(f"Branch conversation {self._conversation}", "-wide"):
            yield Label("from this message on")
            yield Select(self._choices, value=middle, allow_blank=False, id="at")
            yield Label("say this instead (empty: it is only drawn again)")
            yield TextLine(id="say")
            yield Label("redraws of each, and as many of the message as it was")
            yield TextLine(str(MANY), id="times", type="integer")
            yield Checkbox(f"all conversations of the batch; then {FEW} redraws are enough", id="all", compact=True)
            yield fault_line()
            yield buttons(plan="Plan it", cancel="Cancel")

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        times = self.query_one("#times", Input)
        if times.value in (str(MANY), str(FEW)):
            times.value = str(FEW if event.value else MANY)

    def accept(self) -> None:
        times, replacement = self.query_one("#times", Input).value, self.query_one("#say", Input).value
        if not times.isdecimal() or not 1 <= int(times) <= MOST_TIMES:
            self.fault(f"How often? From 1 to {MOST_TIMES:,} times.")
            return
        chosen = () if self.query_one("#all", Checkbox).value else (self._conversation,)
        at = str(self.query_one("#at", Select).value)
        self.dismiss(BranchSpec(self._batch, at, chosen, replacement if replacement.strip() else None, int(times)))


async def branch(app: "TidepoolApp", batch: BatchLine, talk: Transcript) -> None:
    """Raises a TidepoolError where it cannot be."""
    from tidepool.engine.run import create_branch

    steps = await app.file.do(steps_of, app.path, batch.id)
    messages = [(step, one.speaker or "", one.content) for step, one in zip(steps, talk.messages, strict=False)]
    wish = await app.push_screen_wait(BranchDialog(batch.id, talk.sequence_number, messages))
    if wish is not None and await _agreed(app, wish):
        new = await app.file.do(new_branch, app.path, wish)
        app.follow(launching.resume(app.path, await app.file.do(create_branch, new, app.path)))


async def _agreed(app: "TidepoolApp", wish: "BranchSpec") -> bool:
    """What it takes; and before that, where a stranger's file would have its calls go."""
    from tidepool.engine.branching.replay import BranchStudy
    from tidepool.engine.reports.blocks import money
    from tidepool.engine.run import question_about
    from tidepool.engine.runtime.plans import priced

    new = await app.file.do(new_branch, app.path, wish, plan_only=True)
    plan = await app.file.do(BranchStudy(new.config, new.branch).plan)
    question = await app.file.do(question_about, app.path, wish.batch, (), plan)
    if question is not None and not await app.ask_for_trust(question):
        return False
    cost = (await app.file.do(priced, plan, new.config))["cost_usd"]
    sentences = [f"{plan.units:,} redraws, {plan.calls_expected:,} calls, about {money(cost)}.", *plan.notes]
    agreed = await app.push_screen_wait(Confirm(" ".join(sentences), "Branch", no="Leave it", title="Branch"))
    return agreed is True
