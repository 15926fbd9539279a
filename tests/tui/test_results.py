"""Reading the results of a batch, as a person does."""

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, Select

from tests.support.state import query
from tests.tui.persons import opened, press, rows_text, screen_text, until, until_seen
from tests.tui.studies import EVOLUTION, game, played
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.widgets.batch_list import BatchList
from tidepool.tui.app.widgets.conversations import TYPING_SECONDS, ConversationList, ConversationsPane
from tidepool.tui.app.widgets.frame import PanelStrip
from tidepool.tui.app.widgets.transcript import TranscriptPane


async def test_an_ended_batch_shows_its_figures_with_intervals_and_finds_a_word_in_its_talk(path: Path) -> None:
    await played(path, game(talks=20))
    said = counted(path, "SELECT count(*) FROM call WHERE text LIKE '%lantern%'")
    assert said
    async with opened(path, size=(160, 48)) as (app, pilot):
        await until_seen(pilot, "A small game")
        await press(pilot, "enter", until=ResultsScreen)
        await until_seen(pilot, "20 of 20 completed")
        text = screen_text(app)
        assert (
            text.index("Simulated: no real model") < text.index("Secrets revealed: ") < text.index("20 of 20 completed")
        )
        await until_seen(pilot, "who reveals, who obtains")
        await press(pilot, "tab", until="Agents who spoke first")
        assert "95 %" in screen_text(app)
        await press(pilot, "tab", until="who reveals, who obtains")
        await until_seen(pilot, "obtained the secret of the column")
        await pilot.resize_terminal(80, 24)
        heat = app.screen.query_one(".-heat")
        await until(
            pilot, lambda: heat.content_size.height == 5, "every agent has its row where plots stand one below another"
        )
        await pilot.resize_terminal(160, 48)
        await pilot.press("slash", *"lantern")
        await until(pilot, lambda: app.screen.query_one(ConversationList).hit is not None, "a hit")
        await until(pilot, lambda: app.screen.query_one(ConversationList).count == said, f"{said} hits")
        await pilot.press("enter")
        first = app.screen.query_one(ConversationList).selected
        await pilot.press("n")
        await until(pilot, lambda: app.screen.query_one(ConversationList).cursor == 1)
        await pilot.press("N")
        await until(pilot, lambda: app.screen.query_one(ConversationList).selected == first)
        await until_seen(pilot, f" {first}, game 1")
        await search_for_anything(app, pilot)


STRANGE = ('"', "AND OR NOT", "[/foo]", "[@click=app.quit]x", "*", "x" * 5_000, "\u202e", "'; DROP TABLE call")


async def search_for_anything(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """Strange input breaks nothing: what comes after it is found all the same."""
    talks = app.screen.query_one(ConversationsPane)
    for typed in (*STRANGE, "marigold"):
        talks.query_one("#search", Input).value = typed
        await pilot.pause(TYPING_SECONDS + 0.02)
    await until(pilot, lambda: talks.list.words == ("marigold",), "the search after the strange ones")


async def test_an_evolutions_answers_are_read_by_prompt_and_by_words(path: Path) -> None:
    async with opened(path, EVOLUTION, size=(120, 30)) as (app, pilot):
        await pilot.press("4")
        await until(pilot, lambda: "Answers" in screen_text(app), "the panel's name")
        answers = app.screen.query_one(ConversationsPane)
        text = app.screen.query_one("#talk-text", TranscriptPane)
        await until(pilot, lambda: text.answer is not None, "an answer")
        first = text.answer
        assert first is not None and first.grade == "wrong" and first.split == "judge"
        app.screen.query_one(PanelStrip).choose("panel-talks")
        await until(pilot, lambda: "× held out" in rows_text(answers.list)[0], "the list")
        await until_seen(pilot, "held-out problems, number")
        assert first.question and first.question.split()[0] in screen_text(app) and "best seed" not in screen_text(app)
        answers.query_one("#agent", Select).clear()
        answers.query_one("#wave", Select).value = "judge"
        asked = counted(path, "SELECT count(*) FROM answers WHERE split = 'judge'")
        await until(pilot, lambda: answers.list.count == asked, "everybody's answers to held-out problems")
        await until(pilot, lambda: any("best seed" in row for row in rows_text(answers.list)), "who the prompts are")
        answers.query_one("#wave", Select).clear()
        answers.query_one("#show", Select).value = "missing"
        missing = counted(path, "SELECT count(*) FROM answers WHERE reply IS NULL")
        await until(
            pilot, lambda: answers.list.count == missing and "missing" in rows_text(answers.list)[0], "the lost"
        )
        answers.query_one("#show", Select).value = "unclear"
        unclear = counted(path, "SELECT count(*) FROM answers WHERE correct IS NULL AND reply IS NOT NULL")
        assert unclear
        await until(pilot, lambda: answers.list.count == unclear and "? " in rows_text(answers.list)[0], "the unclear")
        answers.query_one("#show", Select).value = "any"
        word = max(first.question.split(), key=len).strip(",.?")
        answers.query_one("#search", Input).value = word
        texts = "lower(question || ' ' || coalesce(reply, ''))"
        found = counted(path, f"SELECT count(*) FROM answers WHERE instr({texts}, '{word.lower()}')")
        await until(pilot, lambda: answers.list.count == found, "a word of the question")
        app.screen.query_one(PanelStrip).choose("panel-family")
        await until_seen(pilot, "champion")
        assert first.genome_id in screen_text(app)


def counted(path: Path, sql: str) -> int:
    return int(query(path, sql)[0][0])


async def test_filters_keep_talks_that_revealed_or_failed_and_marked_batches_are_compared(path: Path) -> None:
    await played(path, game(talks=30, fatal=0.1))
    failed = counted(path, "SELECT count(*) FROM unit WHERE status = 'failed'")
    revealed = counted(path, "SELECT count(DISTINCT unit_id) FROM outcome WHERE revealed")
    assert failed and revealed
    async with opened(path) as (app, pilot):
        await until_seen(pilot, "A small game")
        await pilot.press("4", "slash")
        talks = app.screen.query_one(ConversationsPane)
        await until(pilot, lambda: talks.list.count == 30, "all talks")
        talks.query_one("#show", Select).value = "failed"
        await until(pilot, lambda: talks.list.count == failed, "the failed ones")
        await until(pilot, lambda: "×" in rows_text(talks.list)[0])
        talks.query_one("#show", Select).value = "revealed"
        await until(pilot, lambda: talks.list.count == revealed, "those that revealed")
        talks.query_one("#show", Select).value = "all"
        talks.query_one("#agent", Select).value = "Ada"
        await until(pilot, lambda: talks.list.count == 30, "all of Ada's")
        await played(path, game(name="Second", talks=8, seed=9))
        talks.list.focus()
        await pilot.press("1")
        await until(pilot, lambda: app.screen.query_one(BatchList).count == 2)
        await press(pilot, "home", "space", "space", "m", until="side by side")
        text = screen_text(app)
        assert "A small game" in text and "Second" in text and "Ada: revealed" in text
