"""`make screenshots`: writes pictures of the app and of the command to docs/pictures/, and the gallery of examples to docs/gallery.md.

Names as arguments draw only these, for example `python -m benchmarks.pictures run`.
"""

import asyncio
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from textual.pilot import Pilot

from benchmarks import terminal_picture
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.config.toml_files import parse_toml
from tidepool.engine.run import run_batch, run_study
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.theme import DARK, LIGHT_NAME
from tidepool.tui.app.widgets.blocks import Plot
from tidepool.tui.app.widgets.conversations import ConversationList
from tidepool.tui.app.widgets.frame import PanelStrip
from tidepool.tui.app.widgets.transcript import TranscriptPane
from tidepool.tui.command.main import main as command

ROOT = Path(__file__).parent.parent
STARTERS = ROOT / "tui" / "app" / "starters"


def demo_file(path: Path) -> Path:
    """A batch of each kind, offline, quick, the same every time."""
    texts = [(STARTERS / f"{kind}.toml").read_text(encoding="utf-8") for kind in ("simulation", "evolution")]
    texts.append((ROOT / "examples" / "mutation.toml").read_text(encoding="utf-8"))
    texts.append((STARTERS / "secret_game.toml").read_text(encoding="utf-8"))
    for text in texts:
        quick = text.replace("latency = 0.25", "latency = 0.02").replace("latency = 0.05", "latency = 0.002")
        quick = quick.replace("num_env_steps = 2500", "num_env_steps = 800")
        asyncio.run(run_batch(config_from(parse_toml(quick, "the demo")), path))
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        command(["--db", str(path), "entities", "generate", "--type", "human", "-n", "12", "--seed", "1"])
    return path


def first_batch(path: Path, kind: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT number FROM batch WHERE kind = ?", (kind,)).fetchone()[0])


async def until(pilot: Pilot[None], condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the screen never showed it")
        await pilot.pause(0.02)


os.environ.pop("NO_COLOR", None) if "--no-color" not in sys.argv else os.environ.update(NO_COLOR="1")

PICTURES = ROOT / "docs" / "pictures"
SIZE = (120, 36)
Step = Callable[[TidepoolApp, Pilot[None]], Awaitable[None]]


async def batches(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("1")
    await _at_rest(app, pilot)


async def compose(app: TidepoolApp, pilot: Pilot[None]) -> None:
    await pilot.press("2")
    await until(pilot, lambda: "Ready to run" in text(app))
    await pilot.press("f5")


async def watch(app: TidepoolApp, pilot: Pilot[None]) -> None:
    app.current = first_batch(app.path, "secret_game")
    await pilot.press("escape", "3")
    await until(pilot, lambda: "■■■" in text(app) and "who reveals" in text(app))
    await drawn(app, pilot)


def shown_kind(app: TidepoolApp) -> str | None:
    batch = app.screen.shown_batch if isinstance(app.screen, ResultsScreen) else None
    return batch.kind if batch else None


def panel(kind: str, name: str) -> Step:
    async def step(app: TidepoolApp, pilot: Pilot[None]) -> None:
        app.current = first_batch(app.path, kind)
        await app.switch_mode("results")
        await until(pilot, lambda: shown_kind(app) == kind)
        await until(pilot, lambda: any(one.id == name and one.offered for one in app.screen.query("Panel")))  # type: ignore[attr-defined]
        app.screen.query_one(PanelStrip).choose(name)
        await _at_rest(app, pilot)

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


STEPS: dict[str, Step] = {
    "batches": batches,
    "compose": compose,
    "watch": watch,
    "results": panel("secret_game", "panel-statistics"),
    "plots": panel("secret_game", "panel-plots"),
    "search": search,
    "evolution": panel("evolution", "panel-plots"),
    "family": panel("evolution", "panel-family"),
    "mutation": panel("mutation", "panel-plots"),
    "library": library,
    "providers": providers,
}
LIGHT_TOO = ("batches", "compose", "watch", "plots")


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


async def play(database: Path, theme: str, names: list[str]) -> None:
    app = TidepoolApp(database)
    app.theme = theme
    mark = "" if theme == DARK.name else "-light"
    try:
        async with app.run_test(size=SIZE) as pilot:
            for name in names:
                await STEPS[name](app, pilot)
                await pilot.pause(0.2)
                svg = app.export_screenshot(title="Tidepool", simplify=True)
                (PICTURES / f"{name}{mark}.svg").write_text(slim(svg, name), encoding="utf-8")
                print(f"{name}{mark}.svg", flush=True)
    finally:
        app.shut_down()


def draw_run(folder: Path) -> None:
    """The first command of README, with its output."""
    with redirect_stdout(StringIO()), chdir(folder):
        command(["examples", "secret_game"])
    arguments = ["run", "secret_game.toml"]
    lines = terminal_picture.record(arguments, folder)
    for theme, mark in ((terminal_picture.DARK, ""), (terminal_picture.LIGHT, "-light")):
        svg = terminal_picture.draw(arguments, lines, theme)
        (PICTURES / f"run{mark}.svg").write_text(svg, encoding="utf-8")
        print(f"run{mark}.svg", flush=True)


EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "gallery.md"
GALLERY_SIZE = (110, 34)
READ = {
    "evolution_judged": "talks",
    "evolution_labels": "talks",
    "simulation": "talks",
    "simulation_narrated": "talks",
    "secret_game_mixed": "statistics",
    "secret_game_diversity": "statistics",
    "mixed_providers": "talks",
    "stop_when_sure": "statistics",
    "design": "statistics",
}
"""the panel that shows an example best, where it is not the plots"""
KINDS = {
    "secret_game": "Secret game",
    "simulation": "Entity simulations",
    "evolution": "Prompt evolution",
    "mutation": "Query mutation",
}
INTRODUCTION = """# Gallery

Copy an example by the name in its heading. Each runs offline in seconds, and you can change it:

```sh
tidepool examples simulation
tidepool run simulation.toml
```

The pictures show Results in the app, with simulated replies. `make screenshots` makes this page.
"""


def examples() -> dict[str, list[Path]]:
    """By kind, in the order of the page."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(EXAMPLES.glob("*.toml")):
        found[load_config(path).batch.kind].append(path)
    return found


def about(path: Path) -> str:
    """How an example describes itself: its first comment, without the commands."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(line for line in lines if line and not line.startswith("tidepool "))


def page() -> str:
    parts = [INTRODUCTION]
    for kind, paths in examples().items():
        parts.append(f"\n## {KINDS[kind]}\n")
        for path in paths:
            name = load_config(path).batch.name
            parts.append(
                f"\n### {name} (`{path.stem}`)\n\n{about(path)}\n\n![Results](pictures/gallery/{path.stem}.svg)\n"
            )
    return "".join(parts)


async def picture(example: Path, folder: Path) -> str:
    database = folder / f"{example.stem}.db"
    config = load_config(example)
    await (run_study if config.design else run_batch)(config, database)
    number = first_batch(database, config.batch.kind)
    app = TidepoolApp(database)
    panel = f"panel-{READ.get(example.stem, 'plots')}"
    try:
        async with app.run_test(size=GALLERY_SIZE) as pilot:
            await _open(app, pilot, -number if config.design else number, panel)
            svg = app.export_screenshot(title=f"tidepool run examples/{example.name}", simplify=True)
    finally:
        app.shut_down()
    return slim(svg, example.stem.replace("_", "-"))


async def _open(app: TidepoolApp, pilot: Pilot[None], number: int, panel: str) -> None:
    app.current = number
    await app.switch_mode("results")
    await until(pilot, lambda: isinstance(app.screen, ResultsScreen) and app.screen.shown_batch is not None)
    await until(pilot, lambda: any(one.id == panel and one.offered for one in app.screen.query("Panel")))  # type: ignore[attr-defined]
    app.screen.query_one(PanelStrip).choose(panel)
    await until(pilot, lambda: app.screen.query_one(f"#{panel}").has_class("-chosen"))
    await _at_rest(app, pilot)


async def _at_rest(app: TidepoolApp, pilot: Pilot[None]) -> None:
    """Until it shows something, and the same twice."""
    before = ""
    while text(app) != before or not _filled(before):
        before = text(app)
        await pilot.pause(0.5)
        await drawn(app, pilot)


def _filled(screen: str) -> bool:
    return "Calculating…" not in screen and sum(len(line.split()) > 2 for line in screen.splitlines()) > 5


def main(names: list[str]) -> int:
    """Draws all pictures, or those of these names."""
    os.environ.pop("NO_COLOR", None)
    PAGE.write_text(page(), encoding="utf-8")
    (PICTURES / "gallery").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(place / "seller")
        for theme, steps in ((DARK.name, tuple(STEPS)), (LIGHT_NAME, LIGHT_TOO)):
            if chosen := [step for step in steps if not names or step in names]:
                database = place / "tidepool.db"
                asyncio.run(play(database if database.exists() else demo_file(database), theme, chosen))
        for example in (path for paths in examples().values() for path in paths):
            if not names or example.stem in names:
                svg = asyncio.run(picture(example, place))
                (PICTURES / "gallery" / f"{example.stem}.svg").write_text(svg, encoding="utf-8")
                print(f"{example.stem}.svg", flush=True)
        if not names or "run" in names:
            draw_run(place)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
