"""Outcome rows of played talks, as the tests of the statistics need them."""

from collections.abc import Iterable, Mapping
from typing import Any

from tidepool.engine.studies.secret_game.analysis import GameDesign, analyse_sides
from tidepool.engine.studies.secret_game.scoring import sides, standard_points
from tidepool.engine.studies.secret_game.sides import SideColumns, SideOutcome

Talk = tuple[str, str, bool, bool]
"""opener, partner, and whether each revealed"""


def rows(*talks: Talk, game: int = 1) -> list[SideOutcome]:
    found = []
    for number, talk in enumerate(talks, 1):
        for opener, side in zip((True, False), sides(*talk), strict=True):
            score = standard_points(side.revealed, side.obtained)
            talk_of = (f"{game}/{number}", game, side.agent, side.opponent)
            found.append(SideOutcome(*talk_of, opener, side.revealed, side.obtained, score=score))
    return found


def analysed(
    rows: Iterable[SideOutcome], failed: Mapping[tuple[str, str], int] | None = None, played: GameDesign | None = None
) -> dict[str, Any]:
    found, columns = list(rows), SideColumns()
    if found:
        columns.add([side.conversation_id for side in found], [side[1:] for side in found])
    return analyse_sides(columns.of_whole_talks(), failed, played)
