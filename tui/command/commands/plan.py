"""`tidepool plan` and `tidepool bench`: the cost, time and precision of a study, and the speed of this machine."""

import argparse

from tidepool.engine.errors import UsageError
from tidepool.engine.reports.blocks import money, number, span
from tidepool.tui.command.output import echo, echo_err, echo_json, reply
from tidepool.tui.drawing.text import console, plain_table


def _difference(text: str) -> float:
    """The value of --detect: 0.1 or 10%."""
    percent = text.strip().endswith("%")
    return float(text.strip().removesuffix("%")) / (100 if percent else 1)


def add_plan_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="a study, as for `tidepool run`")
    parser.add_argument(
        "--pilot", metavar="BATCH", help="a finished batch or study of the file; its results replace the assumptions"
    )
    parser.add_argument(
        "--detect",
        metavar="D",
        type=_difference,
        help="print the sample size that detects this difference, e.g. 0.10 or 10%% for ten points of a share",
    )
    parser.add_argument("--outcome", metavar="NAME", help="with --detect: the measure")
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="replace an assumption, e.g. rate=0.3 or rate=0.1,0.3; names: rate, sd, correlation, matched, game, scenario, entity, reaction, between",
    )
    parser.add_argument("--power", action="store_true", help="print the tables of assumptions, precision and power")
    parser.add_argument("--full", action="store_true", help="print the waves and all facts of the plan")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a config value")


def run_plan(options: argparse.Namespace) -> int:
    from tidepool.engine.config.freezing import remarks_on
    from tidepool.engine.config.loading import load_config
    from tidepool.engine.planning.foresight import PowerQuery, forecast, planned, power_of, price_of

    config = load_config(options.config, options.set)
    study_plan = planned(config, options.db)
    power_request = PowerQuery(
        assume=options.assume, pilot=options.pilot, detect=options.detect, outcome=options.outcome
    )
    power = power_of(forecast(study_plan), power_request, config, options.db)
    plan = price_of(study_plan)
    plan = {**plan, "warnings": [*remarks_on(config), *plan["warnings"]]}
    for warning in plan["warnings"]:
        echo_err(f"warning: {warning}")
    if options.json:
        echo_json({**plan, "power": power})
        return 0
    from tidepool.engine.planning.report import power_blocks
    from tidepool.tui.command.report import print_plan
    from tidepool.tui.drawing.blocks import print_blocks

    print_plan(plan, power, full=options.full)
    if options.power or options.pilot or options.detect is not None or options.assume:
        print_blocks(console(), power_blocks(power))
    return 0


def add_bench_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", metavar="CONFIG.toml", help="a study to run both ways")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a config value")
    parser.add_argument("--full", action="store_true", help="measure with 100,000 conversations (several minutes)")
    parser.add_argument("--yes", action="store_true", help="run a CONFIG.toml twice even if it costs money")


def run_bench(options: argparse.Namespace) -> int:
    if options.set and not options.config:
        raise UsageError("--set needs a config, as in `tidepool bench CONFIG.toml --set …`.")
    return _compare(options) if options.config else _measure(options)


def _measure(options: argparse.Namespace) -> int:
    from tidepool.engine.bench import measure

    figures = list(measure(lambda text: echo_err(f"… {text}"), full=options.full))
    rows = [
        (
            figure.name,
            f"{figure.value:,.{0 if figure.value >= 100 else 2}f} {figure.unit}",
            f"{'≥' if figure.at_least else '≤'} {figure.target:,g} {figure.unit}",
            "ok" if figure.met else "missed",
        )
        for figure in figures
    ]
    right = ("measured", "promised", "")
    table = plain_table(("figure", *right), rows, right=right)
    return reply(options, [figure.as_json() for figure in figures], lambda: console().print(table))


def _compare(options: argparse.Namespace) -> int:
    from tidepool.engine.bench import compare
    from tidepool.engine.config.freezing import freeze
    from tidepool.engine.config.library import with_library
    from tidepool.engine.config.loading import load_config
    from tidepool.engine.planning.foresight import price_of

    config = with_library(load_config(options.config, options.set), options.db)
    cost = price_of(freeze(config, options.db))["cost_usd_live"]
    if cost != 0 and not options.yes:
        raise UsageError(f"This runs the study twice, for about {money(cost)} each time. Add --yes to confirm.")
    gain = compare(config)
    if options.json:
        echo_json(gain)
        return 0
    echo(f"one call at a time  {span(gain['seconds_sequential'])}, {money(gain['cost_usd_sequential'])}")
    echo(f"in waves            {span(gain['seconds_waves'])}, {money(gain['cost_usd_waves'])}")
    same = "the same" if gain["same_statistics"] else "different (replies of a live model vary)"
    echo(f"speed of waves      {number(gain['speedup'], 1, '×')} as fast")
    echo(f"statistics          {same}")
    if gain["simulated"] and not config.providers.simulated.latency:
        echo(
            "Replies are simulated without delay. To measure the gain with real delays, set [providers.simulated] latency."
        )
    return 0
