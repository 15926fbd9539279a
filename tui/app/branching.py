"""From a transcript to a branch that runs: asked, planned, agreed to, written down, started."""

from typing import TYPE_CHECKING

from tidepool.storage.queries.lists import Transcript
from tidepool.storage.queries.watching import Watched
from tidepool.tui.app import launching
from tidepool.tui.app.dialogs.dialog import Confirm, Dialog

if TYPE_CHECKING:
    from tidepool.engine.branching.making import BranchWish
    from tidepool.tui.app.app import TidepoolApp


async def branch(app: "TidepoolApp", batch: Watched, talk: Transcript) -> None:
    """Raises a TidepoolError where it cannot be."""
    from tidepool.engine.branching.making import BranchWish, steps_of
    from tidepool.tui.app.dialogs.branch import BranchDialog

    steps = await app.file.do(steps_of, app.path, batch.id)
    said = [(step, one.speaker or "", one.content) for step, one in zip(steps, talk.messages, strict=False)]
    dialog: Dialog[BranchWish] = BranchDialog(batch.id, talk.sequence_number, said)
    wish = await app.push_screen_wait(dialog)
    if wish is not None and await _agreed(app, wish):
        from tidepool.engine.branching.making import new_branch
        from tidepool.engine.run import enlist_branch

        new = await app.file.do(new_branch, app.path, wish)
        app.follow(launching.resume(app.path, await app.file.do(enlist_branch, new, app.path)))


async def _agreed(app: "TidepoolApp", wish: "BranchWish") -> bool:
    """What it takes; and before that, where a stranger's file would have its calls go."""
    from tidepool.engine.branching.kind import branching
    from tidepool.engine.branching.making import new_branch
    from tidepool.engine.results.wording import money
    from tidepool.engine.studies.kinds import load_kind
    from tidepool.engine.studies.plan import priced
    from tidepool.engine.trust.gate import adopt, question_about

    new = await app.file.do(new_branch, app.path, wish, plan_only=True)
    kind = branching(load_kind(new.config.batch.kind), new.branch)
    plan = await app.file.do(kind.plan, new.config)
    if question := await app.file.do(question_about, app.path, wish.batch, (), plan):
        from tidepool.tui.app.dialogs.trust import TrustDialog

        if not await app.push_screen_wait(TrustDialog(question)):
            return False
        await app.file.do(adopt, app.path, question.admission.batch_id, question.admission.frozen)
    cost = (await app.file.do(priced, plan, new.config))["cost_usd"]
    words = [f"{plan.units:,} redraws, {plan.calls_expected:,} calls, about {money(cost)}.", *plan.notes]
    dialog: Dialog[bool] = Confirm(" ".join(words), "Branch", no="Leave it", title="Branch")
    answer = await app.push_screen_wait(dialog)
    return answer is True
