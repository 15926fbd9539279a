"""Outcome rows of played talks, as the tests of the statistics need them."""

from tidepool.engine.studies.secret_game.scoring import sides, standard_points
from tidepool.engine.studies.secret_game.sides import SideOutcome

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
