"""Models of a draft, chosen from a list instead of typed."""

from textual import on, work

from tidepool.tui.app.compose_model.desk import Desk
from tidepool.tui.app.provider_view.settings import rules_in
from tidepool.tui.app.screens.mode_screen import ModeScreen
from tidepool.tui.app.widgets.form.row import FieldRow


class DraftModels(ModeScreen):
    desk: Desk

    async def settled(self) -> str:
        """The text, with every key that was pressed so far."""
        raise NotImplementedError

    @on(FieldRow.OfferWanted)
    def _offer_wanted(self, event: FieldRow.OfferWanted) -> None:
        self._offer_models(event.row)

    @work(group="models", exclusive=True)
    async def _offer_models(self, row: FieldRow) -> None:
        """Prices and addresses are those of the draft. Its field gets the name when the dialog is gone."""
        from tidepool.tui.app.dialogs.models import ModelDialog

        rules = rules_in(await self.settled())
        chosen = row.value if isinstance(row.value, str) else ""
        path = row.field.path
        name = await self.app.push_screen_wait(ModelDialog(row.field.name, rules.providers, chosen))
        if name is not None and row.is_attached and row.field.path == path:
            row.take_offer(name)
            row.take_focus()
