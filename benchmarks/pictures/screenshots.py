"""`make screenshots`: plays the app on a small file of all four kinds and writes what it shows to docs/pictures/.

python -m benchmarks.pictures.screenshots [FOLDER [WIDTHxHEIGHT]] [--all] [--no-color]
"""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
os.environ.pop("NO_COLOR", None) if "--no-color" not in sys.argv else os.environ.update(NO_COLOR="1")

from textual.pilot import Pilot  # noqa: E402

from benchmarks.screens import demo_file, first_batch, until  # noqa: E402
from tidepool.tui.app.app import TidepoolApp  # noqa: E402
from tidepool.tui.app.screens.results import ResultsScreen  # noqa: E402
from tidepool.tui.app.theme import DARK, LIGHT_NAME  # noqa: E402
from tidepool.tui.app.widgets.blocks import Plot  # noqa: E402
from tidepool.tui.app.widgets.conversations import ConversationList  # noqa: E402
from tidepool.tui.app.widgets.frame import PanelStrip  # noqa: E402
from tidepool.tui.app.widgets.transcript import TranscriptPane  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = (120, 36)
Step = Callable[[TidepoolApp, Pilot[None]], Awaitable[None]]


async def batches(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("1")
    await until(pilot, lambda: "revealed: " in text(app) and "held-out reward" in text(app))


async def compose(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("2")
    await until(pilot, lambda: "Ready to run" in text(app))
    await pilot.press("f5")


async def watch(app: TidepoolApp, pilot: Pilot[None]) -> None:
    app.current = first_batch(app.path, "secret_game")
    await pilot.press("escape", "3")
    await until(pilot, lambda: "■ ■ ■" in text(app) and "who reveals" in text(app))
    await drawn(app, pilot)


def shown_kind(app: TidepoolApp) -> str | None:
    batch = app.screen.shown_batch if isinstance(app.screen, ResultsScreen) else None
    return batch.kind if batch else None


def panel(kind: str, name: str, words: str) -> Step:
    async def step(app: TidepoolApp, pilot: Pilot[None]) -> None:
        app.current = first_batch(app.path, kind)
        await app.switch_mode("results")
        await until(pilot, lambda: shown_kind(app) == kind)
        await until(pilot, lambda: any(one.id == name and one.offered for one in app.screen.query("Panel")))  # type: ignore[attr-defined]
        app.screen.query_one(PanelStrip).choose(name)
        await until(pilot, lambda: words in text(app))
        await drawn(app, pilot)

    return step


async def search(app: TidepoolApp, pilot: Pilot[None]) -> None:
    app.current = first_batch(app.path, "secret_game")
    await app.switch_mode("results")
    await pilot.press("slash", *"lantern")
    await until(pilot, lambda: app.screen.query_one(ConversationList).hit is not None)
    await pilot.press("enter")
    await until(pilot, lambda: app.screen.query_one("#talk-text", TranscriptPane).talk is not None)


async def library(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("escape", "5")
    await until(pilot, lambda: "Openness" in text(app) or "openness" in text(app))


async def providers(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("escape", "6")
    await until(pilot, lambda: "imulated" in text(app) or "penai" in text(app).lower())


async def palette(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("1")
    await pilot.press("ctrl+p")
    await pilot.pause(0.3)


async def help_(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("escape")
    await pilot.press("question_mark")
    await pilot.pause(0.2)


STEPS: dict[str, Step] = {
    "batches": batches,
    "compose": compose,
    "watch": watch,
    "results": panel("secret_game", "panel-statistics", "Intervals are at 95 %"),
    "plots": panel("secret_game", "panel-plots", "who reveals"),
    "talks": search,
    "simulation": panel("simulation", "panel-statistics", "combinations"),
    "evolution": panel("evolution", "panel-plots", "fitness by generation"),
    "family": panel("evolution", "panel-family", "champion"),
    "mutation": panel("mutation", "panel-plots", "reward while learning"),
    "library": library,
    "providers": providers,
    "palette": palette,
    "help": help_,
}
LIGHT_TOO = ("batches", "compose", "watch", "plots")
ON_DEMAND = ("simulation", "palette", "help")
"""with --all: to look at, not to show"""


def text(app: TidepoolApp) -> str:
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def drawn(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """Until the plots in view are there."""
    await until(pilot, lambda: all(plot.drawn for plot in app.screen.query(Plot) if plot.region.height))


def slim(svg: str, name: str) -> str:
    """Without fonts from elsewhere, and the same for the same screen."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = re.sub(r"terminal-\d+", f"t-{name}", svg)
    return re.sub(r"\n\s+", "\n", svg)


async def play(database: Path, folder: Path, size: tuple[int, int], theme: str, names: list[str]) -> None:
    app = TidepoolApp(database)
    app.theme = theme
    mark = "" if theme == DARK.name else "-light"
    try:
        async with app.run_test(size=size) as pilot:
            for name in names:
                await STEPS[name](app, pilot)
                await pilot.pause(0.2)
                svg = app.export_screenshot(title="Tidepool", simplify=True)
                (folder / f"{name}{mark}.svg").write_text(slim(svg, name), encoding="utf-8")
                print(f"{name}{mark}.svg", flush=True)
    finally:
        app.let_go()


def main(arguments: list[str]) -> int:
    words = [word for word in arguments if not word.startswith("--")]
    folder = Path(words[0]) if words else PICTURES
    width, _, height = words[1].partition("x") if len(words) > 1 else (str(SIZE[0]), "", str(SIZE[1]))
    folder.mkdir(parents=True, exist_ok=True)
    everything = "--all" in arguments
    with tempfile.TemporaryDirectory() as place:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(Path(place) / "seller")
        database = demo_file(Path(place) / "tidepool.db")
        for theme in (DARK.name, LIGHT_NAME):
            shown = [name for name in STEPS if name not in ON_DEMAND] if theme == DARK.name else LIGHT_TOO
            names = list(STEPS) if everything else list(shown)
            asyncio.run(play(database, folder, (int(width), int(height)), theme, names))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
