"""What a reply finally says, whatever is looked for in it: its marked answers, and its sentences that commit to something.

Left out are thoughts, a next question that a model asks itself, offers at the end, checks, asides in brackets, questions,
what would have been, and what was taken back. The last word counts: models change their minds.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tidepool.engine.answer_forms import fields_of

_THOUGHT = re.compile(r"<(think|thinking|reasoning|scratchpad|reflection)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_NEXT_QUESTION = re.compile(
    r"\n[^\S\n]*+\**+(?:Q|Question|Problem|Exercise|Frage|User|Human)\s*+\d*+\s*+:", re.IGNORECASE
)
_NEXT_EXAMPLE = re.compile(
    r"^\W*(Review|Text|Input|Tweet|Sentence|Premise|Email|Message|Comment|Passage)\s*:", re.IGNORECASE | re.MULTILINE
)
_STRUCK = re.compile(r"~~[^~\n]+~~|<(?:s|del)>.{0,2000}?</(?:s|del)>", re.DOTALL)
_GREETING = re.compile(
    r"^(?:(?:great|good|nice|interesting|fun|excellent|lovely) \w+|sure(?: thing)?|certainly|of course|okay|ok|great question|good question|absolutely right|no problem|alright|hmm+)\s*[!,.:…]+\s+",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(r"^\s*(?:\[\d+\]:?\s|sources?\s*:|references?\s*:).*$", re.IGNORECASE | re.MULTILINE)
_WIDE = str.maketrans("０１２３４５６７８９．，。：", "0123456789.,.:")
_TAGGED = re.compile(r"<(answer|final_answer|final|result|label|choice)>(.{0,2000}?)</\1>", re.DOTALL | re.IGNORECASE)
_OBJECT = re.compile(r"\{(?=\s*\")")
_KEYS = (
    "final_answer", "finalanswer", "final answer", "answer", "label", "choice", "option", "result", "prediction", "class", "category",
    "classification", "sentiment", "verdict", "value", "solution", "output", "response",
)  # fmt: skip
_EMPTY_BOX = re.compile(r"\\boxed\s*\{\s*\}\W*$")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")

_NOUN = r"(?:answer|答案|答え|antwort|respuesta|réponse|reponse|risposta|resposta)"
_IS = r"(?:\s+(?:is|was|would be|must be|should be|has to be|becomes|comes to|therefore is|lautet|ist|es|est|è)\b(?:\s*:)?|\s*[:=：]|\s*(?:→|=>|->)|是|为|は|\s*[-–—](?=\s))"
_MARK = re.compile(
    rf"(?:\b|(?<=[\u3040-\u9fff])){_NOUN}(?![a-zß-ÿ])(?:\s+(?:correcta|correcte|corretta|correta|final|finale))?[*_]*(?:\s*\([^)\n]*\)|\s+(?:to|for|in)\s[^.:?!\n]{{0,60}}?|,[^.:?!\n]{{0,40}}?)?[*_]*{_IS}[*_\s]*",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"(?:correct|right|wrong|incorrect|clear|obvious|found|given|obtained|the same|consistent|verified|as follows|below|simple|easy|unclear|unknown|computed|calculated|determined)\b(?!\s*[:=])",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\b(?:i(?:['’]d|['’]ll| would| will|['’]m going to) (?:go with|say|guess|pick|choose|answer|settle on|stick with)|i(?:['’]m| am) going with|(?:i|we) count(?:ed)?|my (?:best )?(?:guess|estimate|bet|pick) (?:is|would be))\b[\s:]*",
    re.IGNORECASE,
)
_HEADED = re.compile(rf"^\s*#{{1,4}}\s*(?:final\s+)?{_NOUN}\s*:?\s*\n+", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"(?:step|part|case|method|option)\s*\d|\d+[.)]\s+[^\W\d]", re.IGNORECASE)
_SHORT = re.compile(r"^\s*(?:A|Ans|R)\s*:\s+(?=\S)", re.MULTILINE)
_LABELLED = re.compile(rf"^\s*(?:the\s+)?(?:final\s+)?{_NOUN}(?:\s+is)?\s*[:=]?\s*", re.IGNORECASE)

_TAKEN_BACK = re.compile(
    r"\b(?:wait|moment(?:,| mal)|espera|un momento|attends|attendez|ich habe mich|hold on|scratch that|strike that|oops|my mistake|correction|on second thought|hmm+|let me (?:correct|redo|recompute|recalculate)"
    r"|i (?:made|see) (?:a|an|my) (?:mistake|error)|edit\s*:|sorry, (?:typo|that|i)|actually\s*,|no,? (?:that|this) (?:is|was|adds|can)|that(?:'s| is) (?:wrong|not right|incorrect))",
    re.IGNORECASE,
)
_TURNS = (
    "wait", "moment", "espera", "atten", "hold on", "scratch", "strike", "oops", "mistake", "correction", "second thought", "hmm", "let me", "error",
    "edit", "sorry", "actually", "no,", "no that", "no this", "that's", "that is", "ich habe",
)  # fmt: skip
_OFFERED = ("let me know", "hope", "feel free", "you", "i can also", "happy to", "is there anything", "want me to")
_GIVES_UP = (
    "enough", "dépend", "kommt darauf", "depende", "as an ai", "would you", "insufficient", "no way to", "cannot", "can't", "can’t", "unable", "impossible",
    "know", "sorry", "could you", "please", "hard to", "not sure", "both", "ai language", "doesn't", "does not", "no single", "not possible",
)  # fmt: skip
"""one of these is in every change of mind, offer and refusal: looking for them first is many times quicker"""
_OFFER = re.compile(
    r"^(?:let me know|(?:i )?hope (?:this|that|it)|feel free|would you like|(?:if you|should you) (?:want|need|would|have|'d)|i can also"
    r"|do you want|happy to|is there anything|want me to)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(_OFFER.pattern.removeprefix("^"), re.IGNORECASE)
_CHECK = re.compile(
    r"^\W*(?:(?:sanity |double[- ]|quick |to )?(?:check|verif(?:y|ication|ying)|proof|probe|test)\b|(?:let me|let['’]s|i['’]ll|i will|we can) (?:quickly )?(?:double[- ]?)?(?:check|verify|confirm)|as a (?:sanity )?check"
    r"|(?:reason|reasoning|explanation|why|because|note|notes?|nb|n\.b\.|working|details|background|begründung|confidence|hint|tip|pro tip|reminder|bonus|sources?|references?|disclaimer|caveat|extra|fun fact|ps|p\.s\.)\b\s*[:(]"
    r"|note that|(?:here is|here's) (?:why|how)|for (?:reference|comparison|context)|this is because|we can (?:check|verify)"
    r"|(?:but )?(?:i'?m |i am )?(?:not|only|about) \d+\s?% (?:sure|certain)(?![^.]*\bbut\b))",
    re.IGNORECASE,
)
_STEP = re.compile(r"^(?:step|part)\s*\d+\W*", re.IGNORECASE)
_ENDS_WITH = re.compile(
    r"\W*(?:steps\W*:|why\?|tips?\b|remember\b|try (?:these|this|it)|trivia|fun fact|further reading|by the way|übrigens|please (?:always|note|remember)|where (?:students|people)|double[- ]check|if you['’]d rather"
    r"|(?:here is|here['’]s) (?:the|a|how|why)|common mistakes?|solutions?\W*:|in an? \w+ (?:right )?triangle|extra\b|bonus\b|reason|explanation|why|because|working\s*:|begründung|sanity|check|verif|proof|double|let|i['’]?ll|we can)",
    re.IGNORECASE,
)
_RECHECK = re.compile(r"\W*(?:let|i['’]?ll|we can|double)", re.IGNORECASE)
_CONFIRMED = re.compile(
    r"\b(?:match|correct|confirm|right|holds|consistent|checks? out|works|yes|good)|[✓✔✅]", re.IGNORECASE
)
_ASKS = re.compile(
    r"\b(?:we (?:have|need|want) to (?:find|know|determine|calculate|compute|figure)|the question asks|let(?:'|’)?s (?:think|see|break|go|solve|work|start|find)|how (?:many|much)\b.*\b(?:remain|left|are|is)\b)",
    re.IGNORECASE,
)
_THEREFORE = re.compile(r"\b(?:so|hence|therefore|thus)\b", re.IGNORECASE)
_UNREAL = re.compile(
    r"\b(?:if (?:they|he|she|it|we|you|i|there|the \w+) had|would(?:'ve| have)\b|had (?:they|he|she|it|we|you)\b|instead of|as opposed to"
    r"|(?:most|many|some|other) (?:people|students|models|solvers|textbooks|books|sources)|people (?:claim|say|think|assume|believe)|one might|some might|common (?:mistake|error)|tempting|at first (?:glance|sight|i)|i (?:first|initially|originally) (?:thought|said|got|had|wrote))",
    re.IGNORECASE,
)
_CLUELESS = re.compile(
    r"\b(?:not enough|(?:do not|don't|don’t) have enough|(?:cela|ça) dépend|(?:das|es) kommt darauf an|depende de|as an ai|would you like me to (?:carry|calculate|compute|solve|work|find|continue|do)|isn't enough|insufficient|no way to|cannot be (?:determined|answered|known|solved)|can't be (?:determined|answered|known)|unable to|impossible to (?:say|tell|know|determine)"
    r"|i (?:do not|don't) know|i (?:can't|cannot) (?:say|tell|determine|help|answer|solve|be sure|access|see|view|decide)|i'm sorry,? but|could you (?:clarify|tell|please)|please (?:provide|paste|clarify)"
    r"|hard to (?:say|tell)|(?:i'm|i am) not sure (?:who|what|which|how|where|when|about)|(?:can't|cannot|can’t) (?:really )?(?:choose|decide|pick|see)|both (?:are|answers|readings|interpretations) (?:are )?(?:valid|possible|correct|fine)|an ai language model|doesn't (?:say|make (?:it )?clear)|does not (?:say|make (?:it )?clear)|no single|not possible to)",
    re.IGNORECASE,
)
_DEPENDS = re.compile(r"(?:^|[.!?]\s+)(?:well,? )?(?:it|that) depends\b", re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)*_]*\s+(?=[\"'“‘(*_\[$\\]*[A-Z0-9À-ÞΑ-ΩА-Я])|\n+")
_SHORTENED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|No|approx|ca)\.[\"'”’)*_]*$")
_NO_BREAK = re.compile(rf"{_SHORTENED.pattern}|(?:^\W*\d{{1,2}}|\b[A-Z])\.[\"'”’)*_]*$")
_CUT = re.compile(
    r"(?:[=+×*/÷(,{:#–-]|\b(?:the|a|an|of|is|are|and|so|to|by|times|plus|minus|we|which|that|with|for|at|from|in|on|as|has|have|per|than|this would|now we \w+|we \w{1,4}))\s*$",
    re.IGNORECASE,
)
_END = 100
"""letters in which it shows whether a text ends"""
_READ, _SENTENCE = (4_000, 16_000), (400, 400)
"""letters at the beginning and at the end that are read of a reply, and of one sentence"""
_GAP = re.compile(r"\s{10,}+")
_SIGNS = re.compile(r"\W{80,}+")
_BRACKETS = re.compile(r"\((?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True, slots=True)
class Said:
    """A reply as far as it counts."""

    text: str
    """without thoughts, a next question and offers"""
    given: str | None
    """what a field or a tag says it is: the answer in so many words; "" says: none"""
    cut: bool = False
    """it was not allowed to end"""

    @property
    def undecided(self) -> bool:
        """Without a mark nothing in it is an answer: it says that it has none, or ends before it could."""
        return self.cut or clueless(self.text) or cut_off(self.text) or bool(_EMPTY_BOX.search(self.text))

    def marked(self, *, short: bool = True) -> Iterator[str]:
        """What follows the marks, the strongest first, the last mention of each first; to the end of its line. `short`: "A:"
        stands for "Answer:"."""
        if "####" in self.text:
            for part in reversed(self.text.split("####")[1:]):
                line = _LABELLED.sub("", part.strip().partition("\n")[0].strip("#: "))
                if not _HEADING.match(line):
                    yield line
        for mark in reversed(list(_MARK.finditer(self.text))):
            if not (negated_mark(self.text, mark.start()) or _NO_ANSWER.match(self.text, mark.end())):
                yield _first_line(self.text[mark.end() :])
        for mark in reversed(list(_COMMITTED.finditer(self.text))):
            yield _first_line(self.text[mark.end() :])
        for mark in reversed(list(_HEADED.finditer(self.text))):
            yield _first_line(self.text[mark.end() :])
        if short and len(found := list(_SHORT.finditer(self.text))) == 1:
            yield _first_line(self.text[found[0].end() :])


def said(reply: str, *, cut: bool = False) -> Said:
    text = _STRUCK.sub(" ", _readable(_THOUGHT.sub(" ", reply.replace("\r\n", "\n")))).strip()
    text = _FOOTNOTE.sub("", _GREETING.sub("", text)).translate(_WIDE).strip()
    question = _NEXT_QUESTION.search(text)
    if question and text[: question.start()].strip():
        text = text[: question.start()]
    examples = list(_NEXT_EXAMPLE.finditer(text))
    if len(examples) > 1 and len({one[1].lower() for one in examples}) < len(examples):
        text = text[: examples[1].start()]
    elif examples and 0 < len(text[: examples[0].start()].split()) <= 6:
        text = text[: examples[0].start()]
    return Said(_without_offers(text.strip()), _given(text), cut)


def _readable(text: str) -> str:
    """Models that go round in circles write without end: what is too long to be read with care is shortened in its middle."""
    text = _shortened(_GAP.sub(lambda gap: "\n\n" if "\n" in gap[0] else " ", text), *_READ)
    text = _SIGNS.sub(
        lambda run: run[0][:40] + run[0][-40:], text
    )  # patterns pass over signs from every line's beginning
    if len(text) <= sum(_SENTENCE):
        return text
    found, start = [], 0
    for gap in _BREAK.finditer(text):
        found += [_shortened(text[start : gap.start()], *_SENTENCE), gap[0]]
        start = gap.end()
    return "".join([*found, _shortened(text[start:], *_SENTENCE)])


def _shortened(text: str, first: int, last: int) -> str:
    return text if len(text) <= first + last else f"{text[:first]} … {text[-last:]}"


def ends_plainly(reply: str) -> bool:
    """One mark, no tags and no next question: what stands at the end is what is meant."""
    return reply.count("####") == 1 and "<" not in reply and _NEXT_QUESTION.search(reply) is None


def sentences(text: str, *, listed: bool = True) -> list[str]:
    """`listed`: a number and a dot at the beginning of a line number the line; behind a mark they are the answer."""
    found, start = [], 0
    for gap in _BREAK.finditer(text):
        short = "\n" not in gap[0] and gap.start() - start < sum(_SENTENCE)
        last_words = text[max(start, gap.start() - _END) : gap.start()]
        if short and (_NO_BREAK if listed else _SHORTENED).search(last_words):
            continue
        found.append(text[start : gap.start()])
        start = gap.end()
    found.append(text[start:])
    return [one.strip() for one in found if one.strip(" \t*_`-#>|")]


def committing(text: str) -> list[str]:
    """The sentences that may state an answer, in their order."""
    kept: list[str] = []
    for one in sentences(text):
        bare = _STEP.sub("", one.strip("*_ "))
        if kept and _ENDS_WITH.match(bare):
            if not _RECHECK.match(bare) or _CONFIRMED.search(text, text.index(one)):
                break
            continue  # it found something else
        if _CHECK.match(bare):
            continue
        if _ASKS.search(bare) and not _THEREFORE.search(bare, 4):
            continue
        if re.fullmatch(r"\([^()]*\)[.!]?", bare) and kept:
            continue
        if bare.endswith("?") and not re.match(r"(?:i think|i'd say|maybe|probably)\b", bare, re.IGNORECASE):
            continue
        kept.append(one)
    return kept


def clueless(text: str) -> bool:
    """It says that it gives no answer."""
    return bool((_holds(text, _GIVES_UP) and _CLUELESS.search(text)) or _DEPENDS.search(text))


def _holds(text: str, words: Iterable[str]) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in words)


def unreal(sentence: str) -> bool:
    """It speaks of what would have been, or what others say."""
    return bool(_UNREAL.search(sentence))


def cut_off(text: str) -> bool:
    """It ends in the middle of a sentence or a sum."""
    return bool(_CUT.search(re.sub(r"(?<=\d[.,])[–-]$", "", text.rstrip("*_` \n")[-_END:])))


def after_correction(text: str) -> str:
    """What follows the last change of mind, where something does."""
    if not _holds(text, _TURNS):
        return text
    *_, last = [None, *_TAKEN_BACK.finditer(text)]
    return text if last is None else text[last.end() :]


def without_brackets(text: str) -> str:
    return _BRACKETS.sub(" ", text)


def negated_mark(text: str, place: int) -> bool:
    """ "Most would answer", "the wrong answer is"."""
    return bool(
        re.search(
            r"\b(?:(?:wrong|incorrect|false|your|previous|first|would|common|obvious|if the|if that|if your|to find the|get the|whose)"
            r"|(?:you|they|people|someone|students?|others|i|first) \w*\s?(?:thought|think|said|say|mention\w*|believed?|assumed?|guess(?:ed)?|claim\w*)(?: that)?(?: the| my)?(?: correct| right)?)\s+$",
            text[max(0, place - 100) : place],
            re.IGNORECASE,
        )
    )


def _first_line(text: str) -> str:
    return text.lstrip(" *_").lstrip("\n").partition("\n")[0]


def _without_offers(text: str) -> str:
    if not (_holds(text, _OFFERED) and _OFFERS.search(text)):
        return text
    for one in reversed(sentences(text)):
        if _OFFER.match(one.strip("*_ ")) and not clueless(one):
            text = text[: text.rindex(one)].rstrip()
    return text


def _given(text: str) -> str | None:
    if tags := _TAGGED.findall(text):
        return str(tags[-1][1]).strip()
    for start in reversed(list(_OBJECT.finditer(text))):
        fields: dict[str, Any] | None = fields_of(text[start.start() :])
        for key in _KEYS:
            if fields and key in fields:
                value = fields[key]
                return "" if value is None else str(value).strip()
    return None


def boxed(text: str) -> list[str]:
    """What stands in boxes that are closed; in the order in which they close."""
    if (first := _BOXED.search(text)) is None:
        return []
    opened = {match.end() - 1 for match in _BOXED.finditer(text)}
    found, stack = [], []
    for brace in re.finditer(r"[{}]", text[first.start() :]):
        place = brace.start() + first.start()
        if brace[0] == "{":
            stack.append(place)
        elif stack and (start := stack.pop()) in opened:
            found.append(text[start + 1 : place])
    return found
