"""What can be said of a side: whether it gave its secret away, or a rating on a judge's scale; or that nobody can tell."""

from collections.abc import Mapping
from dataclasses import dataclass

YES, NO, UNCLEAR = "yes", "no", "unclear"
_WORDS = {
    **dict.fromkeys(("yes", "y", "revealed"), YES),
    **dict.fromkeys(("no", "n", "not"), NO),
    **dict.fromkeys(("unclear", "?", "cannot tell"), UNCLEAR),
}
LONGEST_NUMBER = 12


@dataclass(frozen=True, slots=True)
class CodeBook:
    question: str
    scale: tuple[float, float] | None = None
    """lowest and highest rating; None: codes are yes and no"""

    @property
    def keys(self) -> Mapping[str, str]:
        """Key → code, for those that one key says; on a scale beyond 0 to 9 ratings are typed."""
        if self.scale is None:
            return {"y": YES, "n": NO, "?": UNCLEAR}
        low, high = self.scale
        digits = {f"{one}": f"{one}" for one in range(10) if low <= one <= high} if low >= 0 and high <= 9 else {}
        return {**digits, "?": UNCLEAR}

    @property
    def typed(self) -> bool:
        """Whether a rating takes more than one key."""
        return len(self.keys) == 1

    @property
    def words(self) -> str:
        """What may be said, for a person."""
        if self.scale is None:
            return "yes, no or unclear (y, n, ?)"
        return f"a number from {self.scale[0]:g} to {self.scale[1]:g}, or unclear (?)"

    def read(self, text: str) -> str | None:
        """The code that a text stands for; None where it is none. A spreadsheet may have put an apostrophe in front."""
        word = " ".join(text.strip().removeprefix("'").casefold().split())
        known = _WORDS.get(word)
        if self.scale is None or known == UNCLEAR:
            return known
        value = _number(word)
        return f"{value:g}" if value is not None and self.scale[0] <= value <= self.scale[1] else None


def _number(word: str) -> float | None:
    """Written with a point or a comma; `float` alone would also take "nan", "1e5" and figures of other scripts."""
    plain = word.replace(",", ".").replace("−", "-")
    if len(word) > LONGEST_NUMBER or plain.strip("0123456789.-+"):
        return None
    try:
        return float(plain)
    except ValueError:
        return None
