"""From an empty file to a shared result, as a person goes: one journey for each kind of study."""

import json
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.state import query
from tests.tui.persons import batch_status, opened, press, rows_text, screen_text, until, until_seen
from tests.tui.test_compose import composing, fill
from tidepool.engine.kinds import KINDS
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.compose.edits import Put, edited, values_of
from tidepool.tui.app.compose.fields import KeyPath
from tidepool.tui.app.dialogs.batch import ExportDialog
from tidepool.tui.app.kind_screens import template
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.widgets.conversations import ConversationList
from tidepool.tui.app.widgets.form_fields import FieldRow
from tidepool.tui.app.widgets.frame import PanelStrip
from tidepool.tui.app.widgets.transcript import TranscriptPane

pytestmark = pytest.mark.slow

SMALL: dict[str, list[tuple[KeyPath, str]]] = {
    "secret_game": [(("secret_game", "num_interactions"), "6"), (("secret_game", "messages_per_interaction"), "2")],
    "simulation": [(("simulation", "num_simulations"), "2")],
    "evolution": [
        (("evolution", "population_size"), "4"),
        (("evolution", "max_generations"), "2"),
        (("evolution", "max_problems"), "4"),
        (("evolution", "validation_problems"), "4"),
        (("evolution", "elite_size"), "1"),
    ],
    "mutation": [
        (("mutation", "num_env_steps"), "16"),
        (("mutation", "num_processes"), "4"),
        (("mutation", "num_steps"), "4"),
        (("mutation", "episode_length"), "2"),
        (("mutation", "num_mini_batch"), "2"),
    ],
}


SHOWN: dict[str, list[tuple[str, str]]] = {
    "secret_game": [("panel-statistics", "95 % intervals describe"), ("panel-plots", "who reveals, who obtains")],
    "simulation": [("panel-statistics", "combinations"), ("panel-plots", "words")],
    "evolution": [
        ("panel-statistics", "accuracy on held-out problems"),
        ("panel-plots", "fitness by generation"),
        ("panel-family", "champion"),
    ],
    "mutation": [
        ("panel-statistics", "reward on held-out queries"),
        ("panel-plots", "reward while learning"),
    ],
}
"""for each kind, panels of its results and words that stand in them"""


@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_goes_from_an_empty_file_to_an_export(tmp_path: Path, path: Path, kind: str) -> None:
    async with opened(path, size=(140, 44)) as (app, pilot):
        await compose_small(app, pilot, kind)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.current_mode == "watch", "the Watch screen")
        await until_seen(pilot, "■ completed")
        assert batch_status(path) == "completed"
        await read_results(app, pilot, kind)
        await find_a_word(app, pilot, path)
        await take_away(app, pilot, tmp_path / "taken")
    (results,) = (tmp_path / "taken").rglob("results.json")
    assert json.loads(results.read_text(encoding="utf-8"))["batch"]["kind"] == kind


async def compose_small(app: TidepoolApp, pilot: Pilot[None], kind: str) -> None:
    """The numbers that make it quick by the TOML, one by typing; the second kind by the keys that choose it."""
    screen = await composing(app, pilot)
    if kind == "simulation":
        screen.query_one("#kinds").focus()
        await pilot.press("right")
        await until(pilot, lambda: screen.history.kind == kind, "the kind")
    (first, text), *others = SMALL[kind]
    screen.load(edited(template(kind), [Put(field, int(number)) for field, number in others]))
    await until(pilot, lambda: any(row.field.path == first for row in screen.query(FieldRow)), "the form")
    await fill(pilot, screen, first, text)


async def read_results(app: TidepoolApp, pilot: Pilot[None], kind: str) -> None:
    await press(pilot, "4", until=ResultsScreen)
    await until_seen(pilot, str(values_of(template(kind))["batch"]["name"]))
    await until_seen(pilot, "requests/s")
    for panel, words in SHOWN[kind]:
        app.screen.query_one(PanelStrip).choose(panel)
        await until_seen(pilot, words)


async def find_a_word(app: TidepoolApp, pilot: Pilot[None], path: Path) -> None:
    said = query(path, "SELECT text FROM call ORDER BY turn LIMIT 1")[0][0]
    word = max(re.findall(r"[a-z]+", said), key=len)
    await pilot.press("slash", *word)
    found = app.screen.query_one(ConversationList)
    await until(pilot, lambda: found.words == (word,) and found.count > 0, f"{word!r} to be found")
    await pilot.press("enter")
    await until(
        pilot,
        lambda: word in "".join(rows_text(app.screen.query_one("#talk-text", TranscriptPane))),
        f"a talk with {word!r}",
    )
    assert word in screen_text(app)


async def take_away(app: TidepoolApp, pilot: Pilot[None], target: Path) -> None:
    await pilot.press("escape")
    app.screen.query_one(ConversationList).focus()
    await pilot.pause()
    await press(pilot, "e", until=ExportDialog)
    app.screen.query_one("#path", Input).value = ""
    await press(pilot, "enter", until="Type a path")
    app.screen.query_one("#path", Input).value = str(target)
    await pilot.press("enter")
    await until(pilot, lambda: list(target.rglob("analysis.json")), "the exported file")
    await until(pilot, lambda: not any(worker.group == "act" for worker in app.workers), "the end of the export")
