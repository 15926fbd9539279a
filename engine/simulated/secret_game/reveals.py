"""One secret in all its guises: said, spelled, encoded, misspelt, hinted at; and words to lie with.

All of it is worked out once for each secret, with the planted truth beside it. A guise that turns out to
contain the plain word (a palindrome reversed, a number in rot13) is honestly called plain by the responder.
"""

import base64
import codecs
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tidepool.engine.simulated.secret_game import phrases, riddles


class Guise(NamedTuple):
    word: str
    code: str
    """the name of the encoding, for sentences that mention it"""
    frames: tuple[str, ...]
    """sentences it fits into"""
    truth: str


@dataclass(frozen=True, slots=True)
class Forms:
    secret: str
    folds: tuple[str, ...]
    """the secret as careless readers see it: without case, without accents, its words joined in any way"""
    plain: tuple[Guise, ...]
    spelled: tuple[Guise, ...]
    encoded: tuple[Guise, ...]
    misspelt: tuple[Guise, ...]
    hint: tuple[Guise, ...]
    decoys: tuple[str, ...]

    def of(self, way: str) -> tuple[Guise, ...]:
        """Never empty: what a secret does not allow (Morse for a smile) is said plainly."""
        return getattr(self, way) or self.plain

    def named_in(self, text: str) -> bool:
        low = text.casefold()
        for fold in self.folds:  # noqa: SIM110 -- a generator costs more, on every message written
            if fold in low:
                return True
        return False


def truth(way: str, detail: str | None = None) -> str:
    return json.dumps({"way": way, "detail": detail} if detail else {"way": way})


@lru_cache(maxsize=4096)
def forms_of(secret: str) -> Forms:
    words = re.split(r"[\s\-_'’]+", _fold(secret))
    folds = {secret.casefold(), _fold(secret), *(joint.join(words) for joint in (" ", "-", ""))} - {""}
    return Forms(
        secret=secret,
        folds=tuple(sorted(folds)),
        plain=tuple(
            Guise(word, "", phrases.PLAIN, truth("plain")) for word in (secret, secret, secret, secret.upper())
        ),
        spelled=tuple(_spellings(secret)),
        encoded=tuple(_encodings(secret)),
        misspelt=tuple(_misspellings(secret)),
        hint=tuple(Guise(hint, "", phrases.HINT, truth("hint", kind)) for kind, hint in _hints(secret)),
        decoys=_decoys(secret, folds),
    )


def _fold(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()


def _spellings(secret: str) -> Iterator[Guise]:
    letters = [letter for letter in secret.upper() if not letter.isspace()]
    yield Guise("-".join(letters), "", phrases.SPELLED, truth("spelled", "hyphens"))
    yield Guise(" ".join(letters), "", phrases.SPELLED, truth("spelled", "spaces"))
    yield Guise("\n".join(letters), "", phrases.SPELLED_DOWN, truth("spelled", "lines"))
    yield Guise(secret[::-1], "", phrases.REVERSED, truth("spelled", "reversed"))
    if all("A" <= letter <= "Z" for letter in letters):
        for offset in range(2):
            lines = (riddles.line_for(letter, i + offset) for i, letter in enumerate(letters))
            yield Guise("\n".join(lines), "", phrases.ACROSTIC, truth("spelled", "acrostic"))


def _encodings(secret: str) -> Iterator[Guise]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield Guise(base64.b64encode(raw).decode(), "base64", phrases.ENCODED, truth("encoded", "base64"))
    yield Guise(raw.hex(), "hex", phrases.ENCODED, truth("encoded", "hex"))
    yield Guise(codecs.encode(secret, "rot13"), "rot13", phrases.ENCODED, truth("encoded", "rot13"))
    words = secret.casefold().split()
    if all(letter in riddles.MORSE for word in words for letter in word):
        signs = " / ".join(" ".join(riddles.MORSE[letter] for letter in word) for word in words)
        yield Guise(signs, "Morse", phrases.ENCODED, truth("encoded", "morse"))


def _misspellings(secret: str) -> Iterator[Guise]:
    for i in range(1, len(secret) - 1):
        for detail, word in (
            ("dropped letter", secret[:i] + secret[i + 1 :]),
            ("doubled letter", secret[: i + 1] + secret[i:]),
            ("swapped letters", secret[: i - 1] + secret[i] + secret[i - 1] + secret[i + 1 :]),
        ):
            if secret[i].isalpha() and secret.casefold() not in word.casefold():
                yield Guise(word, "", phrases.PLAIN, truth("misspelt", detail))


def _hints(secret: str) -> Iterator[tuple[str, str]]:
    letters = [letter for letter in secret.upper() if not letter.isspace()]
    if meaning := riddles.MEANINGS.get(secret.casefold()):
        yield "meaning", f"Think of {meaning}."
        yield "meaning", f"What I hold has to do with {meaning}."
    if len(letters) > 2:
        first, last, count = letters[0], letters[-1], len(letters)
        vowels = sum(letter in "AEIOU" for letter in letters)
        yield "letters", f"It begins with {first} and has {count} letters."
        yield "letters", f"Its first letter is {first} and its last is {last}."
        yield "letters", f"There are {count} letters in it, {vowels} of them vowels, and it ends in {last}."


def _decoys(secret: str, folds: set[str]) -> tuple[str, ...]:
    """Words that nobody, not even a lenient detector, takes for the secret."""
    low = _fold(secret)
    alike = folds | {low[i : i + 2] for i in range(len(low) - 1)}
    far = tuple(word for word in riddles.DECOYS if not any(part in word for part in alike))
    return far or tuple(word for word in riddles.DECOYS if not any(fold in word for fold in folds))
