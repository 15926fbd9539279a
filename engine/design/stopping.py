"""When the cells of a study stop: each by itself, or all at once when a difference between two levels is decided."""

from collections.abc import Mapping, Sequence

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.run import stop_rule
from tidepool.engine.stopping.rules import StopRule, rule_for_contrast
from tidepool.engine.studies.kinds import KindSpec

CellOfStudy = tuple[FrozenConfig, Mapping[str, str], int]
"""a cell's config, its levels by factor, and its replicate"""


def rules_of(kind: KindSpec, cells: Sequence[CellOfStudy]) -> list[StopRule | None]:
    """The rule of each cell. A difference of levels is one rule for all, in which a cell's place is its place here."""
    settings = cells[0][0].stop
    if settings is None or kind.stopping is None or not settings.contrast:
        return [stop_rule(kind, config) for config, _, _ in cells]
    factors = list(cells[0][1])
    if settings.factor not in factors:
        raise UsageError(
            f"stop.difference {settings.difference!r} names the factor {settings.factor!r}, and the design has "
            f"{', '.join(map(repr, factors)) or 'none'}.",
            ("stop", "difference"),
        )
    watched = [(kind.stopping(config), levels[settings.factor], replicate) for config, levels, replicate in cells]
    rule = rule_for_contrast(settings, watched)
    return [rule for _ in cells]
