"""`tidepool plan`: what a study would take, and how sure it would be, before anything is bought."""

import argparse

from tidepool.tui.command.saying import say_json, tell


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="a study as --run takes it")
    parser.add_argument(
        "--pilot", metavar="BATCH", help="a batch or study of the file, from which to learn what to expect"
    )
    parser.add_argument(
        "--detect",
        metavar="D",
        type=float,
        help="how large it must be to find a difference, e.g. 0.10: ten points of a share",
    )
    parser.add_argument("--outcome", metavar="NAME", help="with --detect: in which outcome")
    parser.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what to take for true, e.g. rate=0.3 or rate=0.1,0.3; correlation, matched, game, scenario, entity, sd, between",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a config value")


def run(options: argparse.Namespace) -> int:
    from tidepool.engine.config.freezing import remarks_on
    from tidepool.engine.config.loading import load_config
    from tidepool.engine.planning.comparisons import foreseen
    from tidepool.engine.planning.detect import planned, price_of
    from tidepool.engine.planning.foresight import Asked, power_of

    written = load_config(options.config, options.set)
    made = planned(written, options.db)
    asked = Asked(assume=options.assume, pilot=options.pilot, detect=options.detect, outcome=options.outcome)
    power = power_of(foreseen(made), asked, written, options.db)
    plan = price_of(made)
    plan = {**plan, "warnings": [*remarks_on(written), *plan["warnings"]]}
    for words in plan["warnings"]:
        tell(f"warning: {words}")
    if options.json:
        say_json({**plan, "power": power})
        return 0
    from tidepool.engine.planning.report import power_blocks
    from tidepool.tui.command.report import print_plan
    from tidepool.tui.drawing.blocks import print_blocks
    from tidepool.tui.drawing.terminal import console

    print_plan(plan)
    print_blocks(console(), power_blocks(power))
    return 0
