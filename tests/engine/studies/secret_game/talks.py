"""Outcome rows of played talks, as the tests of the statistics need them."""

import json
from collections.abc import Iterable

from tidepool.engine.studies.secret_game.analysis import GameDesign, SecretGameStatistics, analyse_sides
from tidepool.engine.studies.secret_game.scoring import sides, standard_points
from tidepool.engine.studies.secret_game.shares import Failed
from tidepool.engine.studies.secret_game.sides import KIND, SideOutcome, Sides
from tidepool.storage.queries.conversations import SidePage

Talk = tuple[str, str, bool, bool]
"""opener, partner, and whether each revealed"""


def rows(*talks: Talk, mode: str = "standard", game: int = 1) -> list[SideOutcome]:
    found = []
    for number, talk in enumerate(talks, 1):
        for opener, side in zip((True, False), sides(*talk), strict=True):
            score = standard_points(side.revealed, side.obtained)
            turn = 1 if side.revealed else None
            talk_of = (f"{game}/{number}", mode, game, side.agent, side.opponent)
            found.append(SideOutcome(*talk_of, opener, side.revealed, side.obtained, turn, score))
    return found


def analysed(
    rows: Iterable[SideOutcome], failed: Failed | None = None, played: GameDesign | None = None
) -> SecretGameStatistics:
    return analyse_sides(sides_from(rows), failed, played)


def sides_from(rows: Iterable[SideOutcome]) -> Sides:
    """As one page of the file would give them."""
    found = [SideOutcome(*row) for row in rows]
    kinds = [json.dumps([getattr(side, name) for name in KIND]) for side in found]
    return Sides.read([SidePage([side.conversation_id for side in found], kinds)] if found else [])  # type: ignore[misc]
