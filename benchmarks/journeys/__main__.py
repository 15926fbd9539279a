"""python -m benchmarks.journeys [--command TIDEPOOL] [--kind KIND] [--stage terminal|browser] [--hand keys|mouse]"""

import argparse
import sys

from benchmarks.journeys.hands import HANDS, KINDS
from benchmarks.journeys.journey import HERE, STAGES, every_journey, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journeys")
    parser.add_argument("--command", help="path of the `tidepool` to try (the one of this Python)")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--stage", choices=list(STAGES), action="append")
    parser.add_argument("--hand", choices=list(HANDS), action="append")
    options = parser.parse_args()
    journeys = every_journey(options.kind or KINDS, options.stage or STAGES, options.hand or HANDS)
    lost = False
    for ended in run(journeys, (options.command,) if options.command else HERE):
        print(ended, flush=True)
        lost = lost or bool(ended.lost)
    return int(lost)


if __name__ == "__main__":
    sys.exit(main())
