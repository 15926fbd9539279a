"""Which of several options a reply commits to: a letter of a choice, or a label.

Every mention of an option is found and weighed by what stands around it: "not B", "B is wrong", "neither A nor B" speak
against it; "A or B" decides nothing. The last sentence that speaks for exactly one option decides.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidepool.engine.studies.evolution.tasks.numbers import plain
from tidepool.engine.studies.evolution.tasks.statements import (
    Said,
    after_correction,
    boxed,
    committing,
    said,
    sentences,
    unreal,
    without_brackets,
)

_AGAINST_BEFORE = re.compile(
    r"(?:\b(?:not|isn't|isn’t|aren't|wasn't|never|neither|nor|nothing|no longer|rather than|instead of|unlike|cannot be|can't be|couldn't be|discard|rule out|ruling out|eliminate|exclude|against|"
    r"hardly|than|over|despite|some|several|few|minor|slightly|slight|ruled out|eliminated|reject|tempting|might seem|looks like|no|without|picked|chose|said|tempted to say)\b|n't)"
    r"(?:\s+(?:be|an?|the|really|quite|very|necessarily|exactly|simply|just|it|answer|option|label|choice|say|called|considered|labell?ed|any|anything|count as|clearly|to))*[\s\"'“‘(*_:]*$",
    re.IGNORECASE,
)
_AGAINST_AFTER = re.compile(
    r"^[\s\"'”’)*_.:]*(?:(?:is|are|was|would be|seems?|looks?|all)\s+(?:the\s+|all\s+|both\s+|also\s+|clearly\s+|just\s+|simply\s+|plainly\s+|obviously\s+)*(?:not\b|wrong|incorrect|false|out\b|ruled out|eliminated|excluded|impossible|tempting|too\b|unlikely|a (?:distractor|trap)|contradict)"
    r"|isn't|can't|cannot|doesn't|does not|don't|do not|fails?\b|contradicts?|would (?:require|need|mean|be the case|only)|means?\b|\?|could be ruled|has an alibi|:\s*no\b)",
    re.IGNORECASE,
)
_DOUBTED = re.compile(r"\b(?:do not|don't|don’t) (?:think|believe)\b[^.;,]*$", re.IGNORECASE)
_JOIN = re.compile(
    r"^[\s\"'”’)*_,]*(?:,|and|or|nor|und|oder|to|bis|/|&|-)[\s]*(?:partly|partially|half)?[\s\"'“‘(*_]*(?:(?:option|the|maybe|perhaps|possibly|rather)\s+)*$",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:either|both|equally|could be|might be|may be|straddles?|between|mixed|partly|partially|depending|yes and no|can't (?:tell|decide)|torn)\b",
    re.IGNORECASE,
)
_BUT = re.compile(r"(?:\b(?:but|however|yet|so|therefore|thus|hence)\b|;|—| – | -- )", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?<=\S)[\s,(]+(?:even )?(?:though|although|while|whereas|despite|because|since|in spite of|with some)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_LISTED = re.compile(r"^[\s*_>-]*\(?[A-H][).:]")
_TICKED = re.compile("[❌✗✘✖✅✓✔]|[:–-]\\s*(?:no|yes|(?:in)?correct|right|wrong)\\b", re.IGNORECASE)
_CROSSED = re.compile("[❌✗✘✖]|[–-]\\s*(?:incorrect|wrong|no)\\b", re.IGNORECASE)
_COMMITS = re.compile(
    r"\b(?:i(?:['’]d| would|['’]ll| will)?|we|you (?:can|should)) (?:mark|label|classify|categori[sz]e|tag|rate|call|consider)\s+(?:it|this|that|the \w+|this \w+)\s+(?:as\s+)?(?:an?\s+)?|\b(?:routed|labell?ed|classified|tagged|marked|categori[sz]ed) as\s+",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"^\W*(?:final |predicted |overall |correct |right |best )?(?:prediction|option|label|sentiment|category|class|classification|verdict|intent|topic|emotion|choice|relation(?:ship)?)\W*:[\s*_]*(\S[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_BETWEEN = re.compile(r"\bbetween\b[^,;:]+\band\b[^,;:]+[,;:]", re.IGNORECASE)
_BRACKET = re.compile(r"\(([^()]+)\)")
_LETTER_CUE = re.compile(
    r"(?:\b(?:option|choice|answer|letter|so|is|be|are|it's|say|choose|pick|picks|select|with|therefore|thus|hence|only|but|not|to|and|or|between|nor|out|both|either|neither|picked|chose|statement|leaving|leaves|believe|think|opción|opção|opzione|clearly|definitely|obviously|probably|certainly|likely|over|la|el|le|die|in|=|:|#|→)\s*[:=]?\s*|^\W*|[(\[{*#>:=,;]\s*|\n\s*)[(\[*_\"'“]*$",
    re.IGNORECASE,
)
_LETTER_TAIL = re.compile(
    r"^[)\]*_\"'”]*(?:\s*(?:[.:,;!?)—–。、]|-\s|$|\n)|\s+(?:is|are|was|as|because|since|and|or|nor|fits|stands|follows|has|seems|looks|would|cannot|can't|all|wins|remains|must|it|for|by|over|but|could|can|may|might|were|do)\b)",
    re.IGNORECASE,
)

_NEAR = 300
"""letters around a mention that are read with it"""


@dataclass(frozen=True, slots=True)
class Mention:
    option: str
    start: int
    end: int
    against: bool


def choice_answer(reply: str, choices: Mapping[str, str], *, cut: bool = False) -> str | None:
    """The letter."""
    return _Chooser(_ByLetter(choices or dict.fromkeys("ABCDEFGH", ""))).of(said(reply, cut=cut))


def label_answer(reply: str, labels: Sequence[str], *, cut: bool = False) -> str | None:
    """The label as it is spelled among the labels."""
    return _Chooser(_ByWord(labels)).of(said(reply, cut=cut))


class _ByWord:
    """Options that are found by their words; a longer one is no mention of a shorter one in it."""

    def __init__(self, labels: Iterable[str]) -> None:
        self.names = {_key(label): label for label in labels}
        longest = sorted(self.names, key=len, reverse=True)
        self._pattern = re.compile(
            "|".join(rf"(?<![\w-]){_spaced(name)}(?![\w-]|['’]\w)" for name in longest), re.IGNORECASE
        )

    def whole(self, text: str) -> str | None:
        return self.names.get(_key(text))

    def mentions(self, sentence: str) -> list[Mention]:
        found = []
        for match in self._pattern.finditer(sentence):
            name = self.names[_key(match[0])]
            if re.match(r"\s*:\s*0?\.\d", sentence[match.end() :]):
                continue  # a list of scores
            against = _against(sentence, match.start(), match.end()) and not _folded(name).startswith(
                ("not ", "no ", "neither")
            )
            if _folded(name) in ("no", "neither") and _is_plain_word(sentence, match.start(), match.end()):
                continue
            if _key(name) == "true" and re.match(r"\s+that\b", sentence[match.end() :]):
                continue  # "it is true that", and then comes a but
            found.append(Mention(name, match.start(), match.end(), against))
        return found

    def blanked(self, found: Said) -> Said:
        """Without the labels themselves: "not enough info" may be one."""
        return replace(found, text=self._pattern.sub("…", found.text))

    def opposite(self, option: str) -> str | None:
        """Of two labels the other one: what is not spam is "not spam", and what is not true is false."""
        if len(self.names) != 2:
            return None
        return next(other for other in self.names.values() if other != option)


class _ByLetter:
    """Options that are found by their letter or by their text."""

    def __init__(self, choices: Mapping[str, str]) -> None:
        self._texts = {letter: text for letter, text in choices.items() if text}
        self._letters = "".join(choices)
        self._words = _ByWord(self._texts.values()) if self._texts else None
        self._by_text = {text: letter for letter, text in self._texts.items()}

    def whole(self, text: str) -> str | None:
        bare = text.strip(" \t\n*_`\"'()[].:{}$")
        if len(bare) == 1 and bare.upper() in self._letters:
            return bare.upper()
        found = self._words.whole(text) if self._words else None
        return self._by_text[found] if found else None

    def mentions(self, sentence: str) -> list[Mention]:
        found = [
            Mention(match[0].upper(), match.start(), match.end(), _against(sentence, match.start(), match.end()))
            for match in re.finditer(rf"(?<![\w'’])[{self._letters}{self._letters.lower()}](?![\w'’])", sentence)
            if self._is_letter(sentence, match)
        ]
        if self._words:
            taken = [(one.start, one.end) for one in found]
            for one in self._words.mentions(sentence):
                if not any(start < one.end and one.start < end for start, end in taken):
                    found.append(Mention(self._by_text[one.option], one.start, one.end, one.against))
        return sorted(found, key=lambda one: one.start)

    def blanked(self, found: Said) -> Said:
        return found

    def opposite(self, option: str) -> str | None:
        return None

    def _is_letter(self, sentence: str, match: re.Match[str]) -> bool:
        """A capital that stands as a letter does, and not as an article or a pronoun; a small one only where it is marked."""
        before, after = _around(sentence, match.start(), match.end())
        if match[0].islower():
            return bool(re.search(r"[(\[]$|\b(?:option|answer is|choice)\s+\(?$", before, re.IGNORECASE)) and bool(
                re.match(r"[)\].,]|\s*$", after)
            )
        if (
            match[0] in "AI"
            and re.match(r"\s+[a-z]", after)
            and not re.match(
                r"\s+(?:is|are|was|as|because|and|or|nor|fits|stands|seems|would|cannot|can't|must)\b", after
            )
        ):
            return False
        return bool(_LETTER_CUE.search(before)) and bool(_LETTER_TAIL.match(after))


class _Chooser:
    def __init__(self, options: "_ByWord | _ByLetter") -> None:
        self._options = options

    def of(self, found: Said) -> str | None:
        if found.given is not None:
            return self._options.whole(found.given) or self._of_sentence(found.given)
        if whole := self._options.whole(plain(found.text)):
            return whole
        corrected = after_correction(found.text)
        if corrected != found.text and (chosen := self._concluded(sentences(corrected))):
            return chosen
        for candidate in found.marked(short=False):
            first = next(iter(sentences(candidate)), "")
            if chosen := self._options.whole(plain(first)) or self._of_sentence(first):
                return chosen
            if self._options.mentions(plain(first)):
                return None
        for box in reversed(boxed(found.text)):
            if chosen := self._options.whole(plain(box)) or self._of_sentence(box):
                return chosen
        for commitment in reversed(list(_COMMITS.finditer(found.text))):
            if chosen := self._of_sentence(next(iter(sentences(found.text[commitment.end() :])), "")):
                return chosen
        for field in reversed(list(_FIELD.finditer(found.text))):
            if chosen := self._options.whole(field[1]) or self._of_sentence(field[1]):
                return chosen
        if self._options.blanked(found).undecided:
            return None
        told = committing(found.text)
        listed = [one for one in told if _LISTED.match(one)]
        if len(listed) > 1 and not any(map(_TICKED.search, listed)):  # options gone through, one a line
            return self._concluded([one for one in told if one not in listed])
        return self._concluded(told) if len(listed) > 1 else self._first_word(found.text) or self._concluded(told)

    def _first_word(self, text: str) -> str | None:
        """ "Yes, it is." and "B. Because …": what a reply opens with, set off from the rest."""
        opening = re.match(
            r"[\s*_\"'“(\[]{0,20}((?:option|answer|label|sentiment)?[\s:]*[^\n.,:;!—–()]{1,60}?)[)\]*_\"'”]{0,20}\s*(?:[.,:;!—–)(]|\n|$|\s-\s)",
            text,
            re.IGNORECASE,
        )
        chosen = (
            self._options.whole(re.sub(r"^(?:option|answer|label)\s*:?\s*", "", opening[1], flags=re.IGNORECASE))
            if opening
            else None
        )
        if chosen is None or opening is None:
            return None
        rest = text[opening.end() :]
        if _AGAINST_AFTER.match(text[opening.end(1) :]):
            return None
        if re.match(r"\s*0?\.\d", rest):
            return None  # a list of scores
        if opening[0].endswith(",") and any(one.start < 4 and not one.against for one in self._options.mentions(rest)):
            return None  # a list
        beside = self._options.whole(rest.partition("\n")[0])
        if beside not in (None, chosen) and "\n" not in opening[0]:
            return None  # "B: Jupiter" where Jupiter is C
        later = self._concluded(
            [
                one
                for one in committing(rest)
                if re.match(r"\W*(?:so|therefore|thus|hence|overall|in conclusion|final)", one, re.IGNORECASE)
            ]
        )
        return later or chosen

    def _concluded(self, told: Sequence[str]) -> str | None:
        if any(_CROSSED.search(one) for one in told):
            told = [one for one in told if not _CROSSED.search(one)]
        for sentence in reversed(told):
            if unreal(sentence) and not _BUT.search(sentence):
                continue
            mentions = self._options.mentions(plain(sentence))
            if not mentions or (
                all(_attributive(plain(sentence), one) for one in mentions) and sentence is not told[0]
            ):
                continue
            chosen = self._of_sentence(sentence)
            if chosen or any(not one.against for one in mentions):
                return chosen
        return None

    def _of_sentence(self, sentence: str) -> str | None:
        text = plain(sentence)
        beside = {self._options.whole(bracket) for bracket in _BRACKET.findall(text)} - {None}
        text = re.sub(r"\b(but|and)\s+(?:since|because|as)\b[^,]*,", r"\1", text)
        for leave_out in (without_brackets, lambda text: _ASIDE.sub("", text), lambda text: _BETWEEN.sub(" ", text)):
            if self._options.mentions(bare := leave_out(text)):
                text = bare
        chosen = self._of_statement(text)
        return None if chosen and beside - {chosen} and len(beside) == 1 else chosen

    def _of_statement(self, text: str) -> str | None:
        *_, last = _BUT.split(text)
        parts = [last, text] if self._options.mentions(last) else [text]
        for part in parts:
            mentions = self._options.mentions(part)
            for_it = [one for one in mentions if not one.against]
            options = list(dict.fromkeys(one.option for one in for_it))
            if len(options) == 1:
                return None if re.search(r"\bdepend(?:s|ing)\b", part) else options[0]
            if len(options) > 1:
                return self._settled(part, for_it)
            if (
                mentions
                and len({one.option for one in mentions}) == 1
                and (other := self._options.opposite(mentions[0].option))
            ):
                return other
        return None

    def _settled(self, text: str, mentions: Sequence[Mention]) -> str | None:
        """Of several the last, unless it is one of a pair or the sentence leaves it open."""
        *_, before, last = mentions
        between = text[before.end : last.start]
        if _JOIN.match(between) or _HEDGE.search(text) or not between.strip(" \t)].:*_-–—(["):
            return None
        emphasised = [one for one in mentions if re.search(r"\*\*[\"'“]?$", text[: one.start])]
        return emphasised[-1].option if len({one.option for one in emphasised}) == 1 else last.option


def _around(sentence: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after a mention, as far as it can speak for or against it."""
    return sentence[max(0, start - _NEAR) : start], sentence[end : end + _NEAR]


def _against(sentence: str, start: int, end: int) -> bool:
    before, after = _around(sentence, start, end)
    if _AGAINST_BEFORE.search(before) or _AGAINST_AFTER.match(after) or _DOUBTED.search(before):
        return True
    # "A, C and D are wrong", "neither positive nor negative": a list shares its fate
    listed = re.match(
        r"^[\s\"'”’)*_]*(?:,|and|or|nor)\s[^.;:]{0,60}?\b(?:are|is)\s+(?:all\s+|both\s+)?(?:wrong|incorrect|out|false|eliminated|ruled out|too)|^[\s,\w]{0,30}?\ball contradict",
        after,
        re.IGNORECASE,
    )
    begun = re.search(
        r"\b(?:neither|rule out|ruled out|eliminate|exclude|not)\s[^.;:]{0,60}?(?:,|and|or|nor)\s*[\"'“(*_]*$",
        before,
        re.IGNORECASE,
    )
    return bool(listed or begun)


def _attributive(sentence: str, mention: Mention) -> bool:
    """ "The positive opening", "the correct value": said of something else on the way."""
    before = re.search(r"\b(?:the|this|that|its|an?|any|these|those)\s+$", sentence[: mention.start], re.IGNORECASE)
    after = re.match(
        r"\s+(?!sentiment|label|class|category|tone|one\b|answer|review|option|verdict|choice|here\b|and\b|or\b|because\b|since\b|but\b)[a-z]{3,}",
        sentence[mention.end :],
    )
    return bool(before and after)


def _is_plain_word(sentence: str, start: int, end: int) -> bool:
    """The word no before a noun: "there is no doubt"; neither before what it denies."""
    return bool(re.match(r"\s+[a-z]", sentence[end:])) and not re.match(r"\s+(?:because|since|as)\b", sentence[end:])


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[\"'“”‘’`*_]", "", text).casefold().strip(" .,;:!?()[]").split())


def _key(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", _folded(text.replace("_", " "))))


def _spaced(name: str) -> str:
    return r"[\s_-]+".join(map(re.escape, name.split()))
