"""`make screenshots`: runs every config of examples/ and shows what came out in docs/gallery.md.

python -m benchmarks.pictures.gallery [NAME …]
"""

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

from textual.pilot import Pilot

from benchmarks.pictures.screenshots import PICTURES, ROOT, drawn, slim, text
from benchmarks.screens import first_batch, until
from tidepool.engine.config.loading import load_config
from tidepool.engine.design.running import run_study
from tidepool.engine.run import run_batch
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.widgets.frame import PanelStrip

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "gallery.md"
SIZE = (110, 34)
READ = {
    "evolution_code": "talks",
    "evolution_judged": "talks",
    "evolution_labels": "talks",
    "evolution_fewshot": "statistics",
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

Every config of `examples/`, each of which runs offline in seconds as it stands (`tidepool examples NAME` copies one out), and one screen of what came out: Results in the app, which `tidepool --db gallery.db` opens.
All answers here are simulated. `make screenshots` makes this page and its pictures anew.
"""


def examples() -> dict[str, list[Path]]:
    """By kind, in the order of the page."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(EXAMPLES.glob("*.toml")):
        found[load_config(path).batch.kind].append(path)
    return found


def about(path: Path) -> str:
    """What an example says of itself: the comment that it begins with, without the command that stands below it anyway."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    text = " ".join(line for line in lines if not line.startswith("tidepool "))
    return re.sub(rf"\s*`tidepool --run examples/{path.name}`(?: runs offline)?\.?", "", text).strip()


def page() -> str:
    parts = [INTRODUCTION]
    for kind, paths in examples().items():
        parts.append(f"\n## {KINDS[kind]}\n")
        for path in paths:
            name = load_config(path).batch.name
            parts.append(
                f"\n### {name}\n\n{about(path)}\n\n```sh\ntidepool --db gallery.db --run examples/{path.name}\n```\n\n"
                f"![{name}](pictures/gallery/{path.stem}.svg)\n"
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
        async with app.run_test(size=SIZE) as pilot:
            await _open(app, pilot, -number if config.design else number, panel)
            svg = app.export_screenshot(title=f"tidepool --run examples/{example.name}", simplify=True)
    finally:
        app.let_go()
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
    return "working it out" not in screen and sum(len(line.split()) > 2 for line in screen.splitlines()) > 8


def main(names: list[str]) -> int:
    PAGE.write_text(page(), encoding="utf-8")
    (PICTURES / "gallery").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(Path(place) / "seller")
        for example in (path for paths in examples().values() for path in paths):
            if not names or example.stem in names:
                svg = asyncio.run(picture(example, Path(place)))
                (PICTURES / "gallery" / f"{example.stem}.svg").write_text(svg, encoding="utf-8")
                print(f"{example.stem}.svg", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
