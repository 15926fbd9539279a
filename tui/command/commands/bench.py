"""`tidepool bench`: this machine's figures, or what waves gain for a study of your own."""

import argparse

from tidepool.engine.errors import UsageError
from tidepool.engine.results.wording import money, number, span
from tidepool.tui.command.saying import say, say_json, tell
from tidepool.tui.drawing.terminal import console


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", metavar="CONFIG.toml", help="a study to run both ways")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a config value")
    parser.add_argument("--full", action="store_true", help="measure with 100,000 conversations: several minutes")
    parser.add_argument(
        "--yes", action="store_true", help="with a CONFIG.toml that costs money: run it twice all the same"
    )


def run(options: argparse.Namespace) -> int:
    if options.set and not options.config:
        raise UsageError("--set overrides values of a config: name one, as in `tidepool bench CONFIG.toml --set …`.")
    return _compare(options) if options.config else _measure(options)


def _measure(options: argparse.Namespace) -> int:
    from rich.table import Table
    from rich.text import Text

    from tidepool.engine.bench import measure

    figures = list(measure(lambda text: tell(f"… {text}"), full=options.full))
    if options.json:
        say_json([figure.as_json() for figure in figures])
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for name in ("measured", "promised", ""):
        table.add_column(name, justify="right")
    for figure in figures:
        sign = "≥" if figure.at_least else "≤"
        digits = 0 if figure.value >= 100 else 2
        table.add_row(
            Text(figure.name),
            f"{figure.value:,.{digits}f} {figure.unit}",
            f"{sign} {figure.target:,g} {figure.unit}",
            "ok" if figure.met else "missed",
        )
    console().print(table)
    return 0


def _compare(options: argparse.Namespace) -> int:
    from tidepool.engine.bench import compare
    from tidepool.engine.config.freezing import freeze
    from tidepool.engine.config.loading import load_config
    from tidepool.engine.library.contents import with_library
    from tidepool.engine.studies.kinds import load_kind
    from tidepool.engine.studies.plan import priced

    config = with_library(load_config(options.config, options.set), options.db)
    frozen = freeze(config, options.db)
    cost = priced(load_kind(config.batch.kind).plan(frozen), frozen)["cost_usd_live"]
    if cost != 0 and not options.yes:
        raise UsageError(f"This study would be bought twice, for about {money(cost)} each time. Add --yes to do it.")
    gain = compare(config)
    if options.json:
        say_json(gain.as_json())
        return 0
    say(f"one call at a time  {span(gain.sequential['seconds'])}, {money(gain.sequential['cost_usd'])}")
    say(f"in waves            {span(gain.waves['seconds'])}, {money(gain.waves['cost_usd'])}")
    same = "the same" if gain.as_json()["same_statistics"] else "different (answers of a live model vary)"
    say(f"gain                {number(gain.speedup, 1, '×')} faster; statistics are {same}")
    if gain.waves["simulated"] and not config.providers.simulated.latency:
        say("simulated answers: set [providers.simulated] latency to see what real delays would gain")
    return 0
