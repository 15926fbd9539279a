"""Shares as they stand in the tables of an evolution."""


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def interval(bounds: list[float] | None) -> str:
    return "–" if bounds is None else f"{100 * bounds[0]:.1f}–{100 * bounds[1]:.1f}"
