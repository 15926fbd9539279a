"""The app's own stylesheet does less than Textual's, and comes to the same."""

from pathlib import Path

from textual.css.stylesheet import Stylesheet
from textual.widget import Widget
from textual.widgets._footer import FooterKey

from tests.tui.persons import opened
from tests.tui.test_compose import composing
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.dialogs.basic import Help


def styled(app: TidepoolApp, sheet: Stylesheet) -> list[object]:
    """All that each widget and each of its parts is told to look like."""
    found: list[object] = []
    for widget in app.screen.walk_children(Widget, with_self=True):
        sheet.apply(widget)
        parts = {name: dict(part.base._rules) for name, part in widget._component_styles.items()}
        found.append((repr(widget), dict(widget.styles.base._rules), parts))
    return found


async def test_every_widget_looks_as_textual_would_have_it(database: Path) -> None:
    async with opened(database) as (app, pilot):
        for key in ("2", "3", "5", "6"):
            await pilot.press(key)
            sheet = Stylesheet(variables=app.get_css_variables())
            sheet.source = dict(app.stylesheet.source)
            sheet.reparse()
            assert len(sheet.rules) == len(app.stylesheet.rules) > 200
            assert styled(app, sheet) == styled(app, app.stylesheet)
        before = styled(app, app.stylesheet)
        await pilot.press("ctrl+t")
        assert styled(app, app.stylesheet) != before, "another theme, other colours"
        await pilot.press("ctrl+t")
        assert styled(app, app.stylesheet) == before


async def test_a_click_on_help_opens_it_in_a_field_too(database: Path) -> None:
    """Where "?" is a letter, though the line of keys says the same as elsewhere."""
    async with opened(database) as (app, pilot):
        screen = await composing(app, pilot)
        for key in ("escape", "f5"):
            await pilot.press(key)
            told = screen.history.values
            (place,) = [one for one in screen.query(FooterKey) if one.action == "help"]
            assert await pilot.click(place)
            await pilot.pause()
            assert isinstance(app.screen, Help) and screen.history.values == told
            await pilot.press("escape")
