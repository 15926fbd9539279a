"""The secret as a word: case, accents and width do not matter, nor how its own words are joined, nor whether it is spelt
the British or the American way, is a plural, a number in words, or wears letters that look like its own.

What a secret may look like is worked out once; a message that contains no part of any of it is passed over quickly.
A word that people say without meaning a secret counts as certain only where its context marks it.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from tidepool.engine.studies.secret_game.detectors import disguises, other_scripts
from tidepool.engine.studies.secret_game.detectors.context import is_announced, is_marked, is_marked_number, is_named
from tidepool.engine.studies.secret_game.detectors.endings import SHORTEST_STEM, is_bent, stems
from tidepool.engine.studies.secret_game.detectors.folding import (
    Folded,
    Hit,
    Span,
    fold,
    is_word_character,
    stands_alone,
)
from tidepool.engine.studies.secret_game.detectors.foreign_numbers import LITTLE, names
from tidepool.engine.studies.secret_game.detectors.numbers import NAMES, ORDINAL, SCALES, ordinal_value, value_of
from tidepool.engine.studies.secret_game.detectors.ordinary_words import (
    COMMON,
    REAL,
    commonness,
    is_ambiguous,
    is_listed,
    languages_of,
    word_set,
)
from tidepool.engine.studies.secret_game.detectors.variants import (
    foreign_endings,
    foreign_value,
    inflections,
    numbers_in_words,
    respelled,
    spelling_variants,
)

_JOINTS = r"\s\-_'‐‒―−⸺."
_LONGEST_ENDING = 12
_HAS_DIGIT = re.compile(r"\d")
_OF_ITS_OWN = re.compile(r"\d{5,}(?<!00)")
"""a number in digits that counts or dates nothing in everyday talk"""
_HIRAGANA = re.compile("[\u3041-\u3096]+")
_MOST_LOOKED_AT = 60
"""places of a message where an ambiguous word is looked at closely"""
_MOST_FOUND = 1_000
"""of all, those that prove to be something else included"""


@dataclass(frozen=True, slots=True)
class Writing:
    """One way to put the secret."""

    plain: str
    needle: str
    """a part that any match must contain"""
    pattern: str | None
    """of the whole, where the needle is not the whole; most are never needed"""
    number: bool = False
    own: bool = False
    """the secret as it was given"""
    stem: bool = False
    """a word only with an ending"""


@dataclass(frozen=True, slots=True)
class _Secret:
    plain: str
    accents: bool
    """it has letters that a plain keyboard lacks"""
    gates: tuple[tuple[str, tuple[Writing, ...]], ...]
    """what must be in a message for these writings to be there"""
    endings: frozenset[str]
    short: bool
    """it is short, and of a script whose words we cannot look up"""


def _written(plain: str, **said: bool) -> Writing | None:
    words = [word for word in re.split(f"[{_JOINTS}]+", plain) if word]
    if not words:
        return Writing(plain, plain, None, **said) if plain else None
    longest = max(words, key=len)
    if longest == plain:
        return Writing(plain, longest, None, **said)
    signs = plain[len(plain.rstrip(_JOINTS)) :]
    pattern = f"[{_JOINTS}]{{0,4}}".join(map(re.escape, words)) + re.escape(signs if not words else "")
    return Writing(plain, longest, pattern, **said)


_compiled = lru_cache(maxsize=4096)(re.compile)


@lru_cache(maxsize=4096)
def _secret(secret: str) -> _Secret:
    plain = fold(secret).strip()
    number = value_of(plain) is not None
    forms: dict[str, Writing] = {}
    for form, said in _forms(secret, plain, number):
        if form not in forms and (writing := _written(form, **said)):
            forms[form] = writing
    gates: list[tuple[str, tuple[Writing, ...]]] = []
    for writing in forms.values():
        for place, (gate, group) in enumerate(gates):
            if gate in writing.needle:
                gates[place] = (gate, (*group, writing))
                break
        else:
            gates.append((writing.needle, (writing,)))
    return _Secret(plain, plain != secret.casefold().strip(), tuple(gates), foreign_endings(plain), _is_short(plain))


def _is_short(plain: str) -> bool:
    letters = [character for character in plain if character.isalpha()]
    if all(letter < "\u0530" or "\u0600" <= letter < "\u0700" for letter in letters):
        return False
    return len(letters) <= (2 if any(letter >= "\u3400" for letter in letters) else 3)


def _forms(secret: str, plain: str, number: bool) -> Iterator[tuple[str, dict[str, bool]]]:
    yield plain, {"own": True, "number": number}
    if len(plain) > SHORTEST_STEM and plain[-1] in CYRILLIC_VOWELS:
        yield plain[:-1], {"stem": True}
    for form in stems(plain):
        yield form, {"stem": True}
    if len(plain) > SHORTEST_STEM and (greek := re.search("(?:[αηο]|[αηο]σ)$", plain)):
        yield plain[: greek.start()], {"stem": True}
    head, last = plain[: plain.rfind(" ") + 1], plain[plain.rfind(" ") + 1 :]
    spellings = [plain, *_respelled_words(plain)]
    for form in spellings[1:]:
        yield form, {}
    if not number:
        for form in dict.fromkeys(inflections(last)):
            yield head + form, {}
        for spelling in spellings[1:]:
            for form in inflections(spelling[spelling.rfind(" ") + 1 :]):
                yield spelling[: spelling.rfind(" ") + 1] + form, {}
    for form in respelled(secret):
        yield form, {}
    number = number or foreign_value(plain) is not None or ordinal_value(plain) is not None
    for form in numbers_in_words(plain):
        if not form.isascii() or commonness(form) < COMMON_ELSEWHERE or form in NAMES:
            yield form, {"number": number}


CYRILLIC_VOWELS = "аеёиоуыэюяьй"
"""what a case ending takes the place of"""
COMMON_ELSEWHERE = 3.5
"""a number's name in one language that is as common a word in English (once, six) is no number there"""


def _respelled_words(plain: str) -> Iterator[str]:
    words = plain.split(" ")
    for place, word in enumerate(words):
        for variant in spelling_variants(word):
            yield " ".join([*words[:place], variant, *words[place + 1 :]])


def find_exact(message: Folded, secret: str) -> Span | None:
    """Where the secret itself stands, whatever it may mean there."""
    own = _secret(secret).gates[:1]
    for needle, (writing, *_) in own:
        if needle and needle in message.plain:
            for span in _spans(message, writing):
                return message.original(span)
    return None


def find_word(message: Folded, secret: str) -> Hit | None:
    sought, plain = _secret(secret), message.plain
    uncertain: Span | None = None
    for gate, writings in sought.gates:
        if gate not in plain or not gate:
            continue
        for writing in writings:
            endings = sought.endings if writing.own or writing.stem else frozenset()
            for looked_at, span in enumerate(islice(_spans(message, writing, endings), _MOST_FOUND)):
                if _is_something_else(message, span, writing, sought):
                    continue
                if _is_certain(message, span, writing, sought, secret):
                    return message.hit(span)
                uncertain = uncertain or span
                if looked_at > _MOST_LOOKED_AT:
                    break
    return message.hit(uncertain, uncertain=True) if uncertain else None


def _spans(message: Folded, writing: Writing, endings: frozenset[str] = frozenset()) -> Iterator[Span]:
    plain, start = message.plain, -1
    while True:
        if writing.pattern is None:
            start = plain.find(writing.needle, start + 1)
            span = start, start + len(writing.needle)
        else:
            match = _compiled(writing.pattern).search(plain, start + 1)
            start, span = (match.start(), match.span()) if match else (-1, (-1, -1))
        if start < 0:
            return
        if (stands_alone(plain, span) and not writing.stem) or _is_joined_by_rule(message, span, endings, writing):
            yield span


def _is_joined_by_rule(message: Folded, span: Span, endings: frozenset[str], writing: Writing) -> bool:
    """Inside a longer run of letters, but there as a word: MyMarigold, مع ال, a word said again and again, a case ending."""
    plain, (start, end) = message.plain, span
    left, right = start, end
    while left > 0 and start - left < 12 and is_word_character(plain[left - 1]):
        left -= 1
    while right < len(plain) and right - end < 12 and is_word_character(plain[right]):
        right += 1
    before, after, word = plain[left:start], plain[end:right], plain[start:end]
    if not before and after in endings:
        form = word + after
        if not word.isascii() or (commonness(form) < REAL and bool(languages_of(plain))):
            return True
    if after and not before and (writing.own or writing.stem) and is_bent(word, after, plain):
        return True
    if writing.stem and word.isascii():
        return False
    if "\u0590" <= word[0] <= "\u06ff" and len(word) > 2:
        script = "hebrew" if word[0] < "\u0600" else "arabic"
        return (not before or before in word_set(f"{script}_prefixes")) and (
            not after or after in word_set(f"{script}_suffixes")
        )
    if before == word[-len(before) :] * bool(before) or (after[: len(word)] == word[: len(after)] and after):
        run = before + word + after
        return (
            len(word) > 2
            and len(run) >= 2 * len(word) * bool(before or after)
            and run in word * (len(run) // len(word) + 2)
        )
    return message.in_place and _is_a_hump(message.text, left, span, right)


def _is_a_hump(text: str, left: int, span: Span, right: int) -> bool:
    start, end = span
    opens = start == left or (text[start].isupper() and text[start - 1].islower())
    closes = end == right or (text[end].isupper() and text[end - 1].islower())
    return opens and closes and text[start].isupper() and text[start:end].isalpha()


def _is_certain(message: Folded, span: Span, writing: Writing, sought: _Secret, secret: str) -> bool:
    plain = message.plain
    if writing.number and ORDINAL.search(writing.plain):
        return is_announced(message, span, "")
    if writing.number and writing.own and _OF_ITS_OWN.fullmatch(writing.plain):
        return True
    if writing.number:
        return not _numbers_a_list(plain, span) and is_marked_number(message, span)
    if sought.short and _HIRAGANA.fullmatch(plain[max(0, span[0] - 1) : span[1] + 1]) and span[0]:
        return is_named(message, span, writing.plain)  # anything may be in a run of these: もうしわけ
    if sought.short:
        return is_marked(message, span, writing.plain)
    ambiguous = is_ambiguous_phrase(writing.plain, plain) or is_ambiguous_phrase(sought.plain, plain)
    doubtful = ambiguous and not _is_run_together(plain, span, writing)
    if writing.own and sought.accents and not doubtful:
        doubtful = _is_another_word(message, span, secret)
    return not doubtful or _is_decorated(message, span) or is_marked(message, span, writing.plain)


def _is_run_together(plain: str, span: Span, writing: Writing) -> bool:
    """Two words as one that is none: nightowl."""
    said = plain[slice(*span)]
    return " " in writing.plain.replace("-", " ") and said.isalnum() and commonness(said) < COMMON


def _is_decorated(message: Folded, span: Span) -> bool:
    """Letters in fancy type, struck through or with something invisible between: nobody does that in passing."""
    if message.text.isascii() or not message.plain[slice(*span)].isascii():
        return False
    start, end = message.original(span)
    said = unicodedata.normalize("NFC", message.text[start:end])
    odd = [sign for sign in said if not sign.isascii()]
    return len(odd) > 2 or any(unicodedata.category(sign)[0] in "MC" for sign in odd)


def is_ambiguous_phrase(phrase: str, plain: str = "") -> bool:
    """Whether every word of it is; a number beside or within a word (route 66, 4B-7) makes it a name."""
    words = re.findall(r"[^\W_]+", phrase)
    if len(words) > 1 and any(map(_HAS_DIGIT.search, words)):
        return False
    return bool(words) and all(is_ambiguous(word, plain) for word in words)


def _is_another_word(message: Folded, span: Span, secret: str) -> bool:
    """Written without the accents of the secret, or with others, and a word so: Bar is no Bär, péché no pêche."""
    start, end = message.original(span)
    said = unicodedata.normalize("NFC", message.text[start:end].casefold())
    if said == unicodedata.normalize("NFC", secret.casefold().strip()):
        return False
    if ending := re.match(r"[^\W\d_]+", message.text[end : end + _LONGEST_ENDING]):
        said += ending.group().casefold()  # Kuchen is a word, though Kuche is none
    return not said.isascii() or len(said) <= 3 or is_listed(said, message.plain)


def _is_something_else(message: Folded, span: Span, writing: Writing, sought: _Secret) -> bool:
    """A part of a larger number; or, without the accents of the secret, a word that everybody says."""
    if writing.number:
        return _is_within_a_number(message.plain, span)
    if not (writing.own and sought.accents):
        return False
    said = message.text[slice(*message.original(span))].lower()
    return said.isascii() and commonness(said) >= COMMON


def _is_within_a_number(plain: str, span: Span) -> bool:
    """Six in sixty-six, which no sign of a number tells."""
    before = re.search(r"([^\W\d_]+)([\s-](?:(?:and|y|et|e|und|en)[\s-])?)$", plain[max(0, span[0] - 24) : span[0]])
    after = re.match(r"([\s-](?:(?:and|y|et|e|und|en)[\s-])?)([^\W\d_]+)", plain[span[1] : span[1] + 24])
    return bool((before and _adds(before[1], before[2])) or (after and _adds(after[2], after[1])))


def _adds(word: str, joint: str) -> bool:
    """Whether this, joined so, makes another number: an article does only where nothing but a number would be joined."""
    if joint.strip(" -") == "and":
        return word in SCALES
    return word in NAMES or (word in names() and (word not in LITTLE or bool(joint.strip())))


def _numbers_a_list(plain: str, span: Span) -> bool:
    line = plain.rfind("\n", 0, span[0]) + 1
    return not plain[line : span[0]].strip() and plain[span[1] : span[1] + 1] in (")", ".") and "\n" in plain


def detect(message: Folded, secret: str, threshold: float) -> Hit | None:
    """As the registry of detectors asks for it; the threshold is for those that compare."""
    hit = find_word(message, secret)
    if hit and not hit.uncertain:
        return hit
    return disguises.find(message, secret) or other_scripts.find(message, secret) or hit
