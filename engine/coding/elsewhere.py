"""Rates corrected by errors that another study measured (Rogan and Gladen): where nothing of this batch is coded."""

from collections.abc import Mapping
from typing import Any

from tidepool.engine.coding.estimates import LEAST_SEEN, Elsewhere, Share, rogan_gladen
from tidepool.engine.coding.sample import Instrument
from tidepool.engine.errors import UsageError

ALL = "all"


def read_known(sensitivity: str, specificity: str) -> Elsewhere:
    """Raises where they are too small, or too little known, to correct anything by."""
    known = Elsewhere(_share("--sensitivity", sensitivity), _share("--specificity", specificity))
    if known.seen.low < LEAST_SEEN:
        raise UsageError(
            f"Sensitivity + specificity − 1 may be as low as {known.seen.low:.2f}: below {LEAST_SEEN:g} a corrected rate says more "
            "about those errors than about this batch. Code a sample of it by hand: `tidepool code BATCH`."
        )
    return known


def _share(option: str, text: str) -> Share:
    value, _, limits = text.partition(":")
    low, _, high = limits.partition(",")
    try:
        found = Share(float(value), float(low), float(high))
    except ValueError:
        found = Share(-1, 0, 0)
    if not 0 <= found.low <= found.value <= found.high <= 1:
        raise UsageError(f"{option} {text!r} is no share with its limits: write it as 0.8:0.7,0.9.")
    return found


def corrected_by(
    kind: str, statistics: Mapping[str, Any], instrument: Instrument, known: Elsewhere
) -> dict[str, tuple[Share, Share]]:
    """Raw and corrected, of all and of each agent."""
    if kind != "secret_game":
        raise UsageError("Sensitivity and specificity are of reveals: only a secret game has them.")
    if instrument == "judge":
        verdicts = statistics.get("verdicts") or {}
        groups = {ALL: verdicts.get("overall") or {}, **(verdicts.get("agents") or {})}
        raw = {name: _raw(row, "revealed") for name, row in groups.items()}
    else:
        raw = {ALL: _raw(statistics["overall"], "secrets_revealed")}
        raw |= {name: _raw(row, "times_revealed_secret") for name, row in statistics["agents"].items()}
    found = {name: (share, rogan_gladen(share, known)) for name, share in raw.items() if share is not None}
    if not found:
        raise UsageError("This batch has no rate that could be corrected, or none with an interval.")
    return found


def _raw(row: Mapping[str, Any], name: str) -> Share | None:
    value, limits = row.get(f"{name}_percentage"), row.get(f"{name}_ci95")
    return None if value is None or not limits else Share(value / 100, limits[0] / 100, limits[1] / 100)
