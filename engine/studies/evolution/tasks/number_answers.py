"""Which number a reply commits to."""

import re

from tidepool.engine.studies.evolution.tasks.numbers import (
    NUMBER_WORD,
    Number,
    in_words,
    numbers_in,
    plain,
    whole_number,
)
from tidepool.engine.studies.evolution.tasks.statements import (
    Said,
    after_correction,
    boxed,
    committing,
    ends_plainly,
    said,
    sentences,
    unreal,
    without_brackets,
)

_NAMES = re.compile(
    r"\b(?:step|part|case|method|option|question|problem|line|equation|eq|figure|table|chapter|page|version|round|day|month|week|year|level|route|gate|room|apollo|boeing|highway|flight|channel|windows|section|article|grade|bus|iphone|formula|area)s?\s*\.?\s*#?\d+\b\s*[:.)]?"
    r"|^\s*[*_]*\d{1,2}[.)](?=\s+\S)|(?<=[\w.,)])\s?(?:\[\d{1,2}\])+|\b(?:to|with|in) \d+ (?:decimal|significant)\s\w+",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER_LIKE = r"[*_$€£\\(]{0,6}[-−]?[\d.,]{0,30}\d[*_)]{0,6}"
_NOT = re.compile(
    rf"\b(?:not|isn't|isn’t|wasn't|n't|rather than|instead of|discard(?:ing)?|reject(?:ing)?|rul(?:e|ing) out|ignor(?:e|ing)|unlike)\s+(?:(?:simply|just|exactly|equal to|the|x|=)\s+){{0,2}}{_NUMBER_LIKE}",
    re.IGNORECASE,
)
_SURE = re.compile(
    rf"(?:\b(?:not |about |only )?{_NUMBER_LIKE}\s?% (?:sure|certain|confident|confidence)|\bconfidence\W+(?:is |of )?[\d.]+\s?%?)",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"\bbetween\s+{_NUMBER_LIKE}[^.;]{{0,20}}?\s+and\s+{_NUMBER_LIKE}|\bfrom\s+{_NUMBER_LIKE}\s*\w{{0,10}}\s+to\s+{_NUMBER_LIKE}|(?<![\w=/(-])\d[\d,.]*(?:–|-|~|\s(?:–|to|bis)\s)\d[\d,.]*(?!\s*[=/×*+-])",
    re.IGNORECASE,
)
_OR = re.compile(
    rf"({_NUMBER_LIKE})(?:\s+\w+)?,?\s+(?:or|oder|ou)\s+(?:(?:maybe|possibly|perhaps|even|rather|x|=|is|it's)\s+){{0,3}}({_NUMBER_LIKE})",
    re.IGNORECASE,
)
_OPEN = re.compile(
    rf"\b(?:could|might|may) be\b(?>.*?{_NUMBER_LIKE})(?>.*?\bor\b).*?{_NUMBER_LIKE}"
    rf"|\b(?P<doubt>maybe|possibly|perhaps|either|soit|entweder)\b(?>.*?{_NUMBER_LIKE})(?>.*?\b(?:(?P=doubt)|or|oder)\b).*?{_NUMBER_LIKE}"
    rf"|\b(?:more|greater|higher|at least|over)\b(?>[^.]*?{_NUMBER_LIKE})(?>[^.]*?\b(?:fewer|less|lower|at most|under)\b)[^.]*?{_NUMBER_LIKE}",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"\b(?:in|since|by|until|year|of|from|before|after)\s+(?:1[5-9]|20)\d\d\b(?!\s*[=+×*/,.]?\d)", re.IGNORECASE
)
_GOES_ON = re.compile(r"\b(?:but|leaving|leaves|minus|then|so)\b", re.IGNORECASE)
_TOTAL = re.compile(rf"([$€£]?{_NUMBER_LIKE})(?:\s+\w+)?\s+(?:in total|in all|altogether|total)\b", re.IGNORECASE)
_TWO_ANSWERS = re.compile(r"^\W*answer\s*\d\s*:", re.IGNORECASE | re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_BUT = re.compile(r"\b(?:but|however|yet)\b,?", re.IGNORECASE)


_SUM = re.compile(
    r"\d\s+(?:times|plus|minus|multiplied by|divided by|added to)\s+\$?\d.*?\b(?:so|which (?:is|makes|gives|equals))\b",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"\d[^.]{0,4}(?:\s[+−–-]\s|[×*/÷]|\btimes\b|\bplus\b|\bminus\b|%? of \$?\d)", re.IGNORECASE)
_ASIDE = re.compile(
    r",?\s+(?:i\.e\.|that is,|of which\b|including\b|because\b|since\b|equivalent to\b|or (?:roughly|about|approximately|around|just|nearly)\b|also known)",
    re.IGNORECASE,
)
_THERE_ARE = re.compile(
    rf"^\W*(?:(?:so|thus|hence|therefore|in total),?\s+)?there (?:are|is|were|was|will be|remain)\s+(?:(?:only|exactly|just|now|a total of)\s+)?({_NUMBER_LIKE})\b",
    re.IGNORECASE,
)
_COLON = re.compile(rf"\b(?:is|was|are|were)\s+({_NUMBER_LIKE})\s*:\s", re.IGNORECASE)
_GIVEN = re.compile(rf"\b(?:with|where|for|using|when|if|let)\s+\w+\s*=\s*{_NUMBER_LIKE}", re.IGNORECASE)
_OUT_OF = re.compile(
    rf"(?P<kept>\d[^.,;=]{{0,24}}?)\s+(?:out of|of)\s+(?:(?:the|her|his|their|its|our|my|all|these|those|originally)\s+){{0,2}}{_NUMBER_LIKE}",
    re.IGNORECASE,
)
_MEANWHILE = re.compile(
    rf"\b(?:after|within|in|during|before|at|per|until|to \w+ (?:the|a|an))\s+(?:(?:the|her|his|their|about|only|another|all|just|giving away|selling|eating|first|last|next)\s+){{0,2}}{_NUMBER_LIKE}",
    re.IGNORECASE,
)
_THEN_WOULD = re.compile(r"^\s*(?:then|that|this|it)\b.*\bwould\b", re.IGNORECASE)
_ROUNDED = re.compile(
    rf"\bround(?:s|ed|ing)?(?: it)?(?: up| down)? to (?:the nearest \w+,? )?({_NUMBER_LIKE})(?! decimal| significant| places)",
    re.IGNORECASE,
)
_CONVERTED = re.compile(rf"{_NUMBER_LIKE}\s+([a-z]{{3,}}),\s+or\s+({_NUMBER_LIKE})\s+(?!\1)[a-z]{{3,}}", re.IGNORECASE)
_CONCLUDES = re.compile(r"\W*(?:so|therefore|thus|hence|finally|in total|altogether|overall)\b", re.IGNORECASE)
_ROW = re.compile(r"\s*(?:\||[-*•✔✓]\s|\d{1,2}[.)]\s|\(?[a-h]\)\s)")
_SETS_OUT = re.compile(
    r"\W*(?:let|first|given|to (?:find|solve|get|compute|calculate|work)|we|step|if|each|every|assum|initially|start|since|when|suppose|in (?:april|may|january)|there are \d+ \w+ in each|"
    r"the (?:problem|question|store|shop|total number of \w+ is given)|originally|at first|on \w+day|next|then|now|month|week|day)\b",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|in total|altogether|in all|total|finally|that makes|that gives|which gives|which means|leaves|leaving|remain|in conclusion|also|insgesamt|entonces|donc)\b|[=✅∴]",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_BRIEF = 16
"""words of a sentence whose number may be a word"""
_ONE = re.compile(r"one (?:way|of|another|can|could|thing|more|might|should|must|needs)\b", re.IGNORECASE)


def number_answer(reply: str, *, cut: bool = False) -> Number | None:
    _, sign, last = reply.rpartition("####")
    if sign and ends_plainly(reply) and (number := whole_number(last)):
        return number  # nothing follows it, so nothing can take it back
    found = said(reply, cut=cut)
    if found.given is not None:
        return _stated(found.given, first=True) or in_words(found.given)
    if len(_TWO_ANSWERS.findall(found.text)) > 1:
        return None
    corrected = after_correction(found.text)
    if corrected != found.text and (number := _of(Said(corrected, None, cut))):
        return number
    return _of(found)


def _of(found: Said) -> Number | None:
    for candidate in found.marked():
        for sentence in sentences(candidate, listed=False)[:2]:
            if _hedged(sentence):
                return None
            if number := _marked_number(sentence):
                return number
    for box in reversed(boxed(found.text)):
        if number := _stated(box, first=True) or in_words(box):
            return number
    if found.undecided and not whole_number(found.text.rstrip(",+")):
        return None
    if (bold := _in_bold(found.text)) is not None:
        return bold
    if (number := _said_first(found.text)) is not None:
        return number
    opening, _, rest = found.text.partition("\n")
    if (number := whole_number(opening.rstrip(",+!"))) and (not rest or len(_LETTERS.findall(rest)) > 2):
        return number
    return _concluded(committing(found.text))


def _in_bold(text: str) -> Number | None:
    """The only number that a reply sets in bold, where it ends with no other conclusion."""
    if "**" not in text:
        return None
    parts = [_NAMES.sub(" ", plain(part)) for part in _BOLD.findall(text) if len(part.split()) <= 5]
    found = [one for part in parts if "=" not in part for one in numbers_in(part)]
    last = next(reversed(sentences(text)), "")
    if len({one.value for one in found}) != 1 or (_CONCLUDES.match(last) and not _BOLD.search(last)):
        return None
    return found[-1]


def _said_first(text: str) -> Number | None:
    """Of a reply that opens with a statement of its own and then explains it, without a conclusion at its end."""
    first, *others = sentences(text) or [""]
    brief = len(first.split()) <= 5 and len(numbers_in(plain(first))) == 1 and "=" not in first
    if brief and others and not _SETS_OUT.match(first) and len(others[-1].split()) > 10:
        return numbers_in(plain(first))[0]
    opening, _, rest = text.partition("\n\n")
    told = sentences(opening)
    if (
        not rest.strip()
        or len(told) != 1
        or "=" in opening
        or _SETS_OUT.match(opening)
        or unreal(opening)
        or _hedged(opening)
    ):
        return None
    after = committing(rest)
    if any(_CONCLUSION.search(one) for one in after[-2:]) or opening.rstrip().endswith((":", "?")):
        return None
    found = numbers_in(_YEAR.sub(" ", without_brackets(_NAMES.sub(" ", plain(opening)))))
    return found[0] if len({one.value for one in found}) in (1, 2) else None


def _marked_number(sentence: str) -> Number | None:
    """The first it names; of a sum in words ("9 times 2, so 18") what it comes to."""
    text = without_brackets(sentence)
    if not numbers_in(plain(text)) and (number := in_words(text)):
        return number
    if _SUM.search(text) and (number := _stated(text, first=False)):
        return number
    return _stated(sentence, first=True) or in_words(sentence)


def _concluded(said_at_last: list[str]) -> Number | None:
    """From the last sentence that states one."""
    first = next((place for place, one in enumerate(said_at_last) if numbers_in(one)), len(said_at_last))
    for place, sentence in reversed(list(enumerate(_without_rows(said_at_last)))):
        if unreal(sentence):
            *_, sentence = _BUT.split(sentence) if _BUT.search(sentence) else [""]
            if unreal(sentence) or _THEN_WOULD.search(sentence):
                continue
        if _hedged(sentence):
            if _RANGE.search(sentence) and sentence is not said_at_last[0]:
                continue  # said of something else: the answer stood before it
            return None
        if place > first and not numbers_in(_YEAR.sub(" ", plain(sentence))):
            continue  # a year beside the matter
        if number := _stated(_without_aside(sentence), first=False):
            return number
    if not said_at_last or any(map(str.isdigit, " ".join(said_at_last))):
        return None
    last = said_at_last[-1]
    begun = NUMBER_WORD.search(last)
    brief = len(said_at_last) <= 2 and len(last.split()) <= _BRIEF
    return in_words(last[begun.start() :]) if begun and brief and not _ONE.match(last, begun.start()) else None


def _without_rows(said_at_last: list[str]) -> list[str]:
    """Without the table or list that follows a sentence that states a number, where nothing more is said after it."""
    words = [place for place, one in enumerate(said_at_last) if not _ROW.match(one)]
    last = words[-1] if words else 0
    rows = len(said_at_last) - 1 - last
    stated = words and rows > 1 and numbers_in(_NAMES.sub(" ", plain(said_at_last[last])))
    return (
        said_at_last[: last + 1] if stated and said_at_last[last].rstrip("*_ ").endswith((":", ".")) else said_at_last
    )


def _without_aside(sentence: str) -> str:
    """Without the same again in other words, reasons, and parts of what was said; unless what stands before is still a sum."""
    aside = _ASIDE.search(sentence)
    if aside is None or _ROUNDED.search(sentence):
        return sentence
    before, reason = plain(sentence[: aside.start()]), aside[0].strip(", ").lower() in ("because", "since")
    return (
        sentence[: aside.start()]
        if numbers_in(before) and (reason or (len(numbers_in(before)) == 1 and not _OPERATOR.search(before)))
        else sentence
    )


def _hedged(sentence: str) -> bool:
    """Two numbers, and no word on which of them."""
    text = _SURE.sub(" ", _NAMES.sub(" ", plain(sentence)))
    if _RANGE.search(text) and not numbers_in(_RANGE.sub(" ", text)) and "=" not in text:
        return True
    if (left := _OPEN.search(text)) and len({one.value for one in numbers_in(left[0])}) > 1:
        return not numbers_in(text[left.end() :])
    pair = None if _CONVERTED.search(text) else _OR.search(text)
    if pair is None:
        return False
    first, second = (numbers_in(side) for side in pair.groups())
    return bool(first and second and first[-1].value != second[-1].value and not numbers_in(text[pair.end() :]))


def _stated(sentence: str, *, first: bool) -> Number | None:
    """Behind the last `=`, in bold, or the first or last that is named; what stands in brackets only where nothing else does."""
    text = _SURE.sub(" ", _NAMES.sub(" ", plain(sentence) if not first else f". {plain(sentence)}"))
    if numbers_in(bare := without_brackets(text)):
        text = bare
    for beside in (_YEAR, _GIVEN) if first or "=" in _GIVEN.sub(" ", text) else (_YEAR, _GIVEN, _OUT_OF, _MEANWHILE):
        if numbers_in(bare := beside.sub(r"\g<kept> " if beside is _OUT_OF else " ", text)):
            text = bare
    text = _NOT.sub(" ", text)
    if not first and (rounded := _ROUNDED.search(text)) and (found := numbers_in(rounded[1])):
        return found[-1]
    before, sign, behind = text.partition("≈")
    if sign and re.search(r"\d\s*[π√]\s*$", before) and numbers_in(behind):
        text = behind
    elif sign and "=" in before and numbers_in(before.rpartition("=")[2]):
        text = before
    before, sign, behind = text.rpartition("=")
    if sign and (alone := whole_number(before)) and _OPERATOR.search(behind):
        return alone
    if sign and (found := numbers_in(behind)):
        return found[-1] if not first and _GOES_ON.search(behind) else found[0]
    for place in () if first else (_TOTAL, _THERE_ARE, _COLON):
        if (told := place.search(text)) and not _GOES_ON.search(text, told.end()) and (found := numbers_in(told[1])):
            return found[-1]
    if not first and (bold := [one for part in _BOLD.findall(text) for one in numbers_in(part)]):
        return bold[-1]
    found = numbers_in(text)
    return (found[0] if first else found[-1]) if found else None
