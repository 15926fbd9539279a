"""Does a rewrite ask for something else than the task? Signs that are hardly ever wrong; what they miss, fitness finds out."""

import re

_LANGUAGES = (
    "French|Spanish|German|Italian|Portuguese|Dutch|Russian|Chinese|Mandarin|Japanese|Korean|Arabic|Hindi|Turkish|Polish|Latin|Greek|"
    "Hebrew|Swedish|Esperanto|Klingon|Pig Latin"
)
_WORKS = r"(?:poem|essay|story|song|haiku|limerick|sonnet|rap|e-?mail|blog post|article|dialogue|screenplay)"
_SAY = r"(?:answer|reply|respond|write|speak|explain|output|give|state|translate)"
_ANSWER = r"(?:answer|result|number|solution)"

_ANY_TASK = (
    rf"\b{_SAY}\b[^.\n]{{0,60}}\b(?:in|into) (?:{_LANGUAGES})\b",
    rf"\b(?:write|compose|tell|respond with|reply with|answer with|create)\s+(?:an?|the)\s+(?:[\w-]+\s+){{0,2}}{_WORKS}\b",
    rf"\b{_SAY}\b[^.\n]{{0,40}}\b(?:as|in the form of) an? (?:[\w-]+ )?{_WORKS}\b",
    r"\bwrite (?:a|an) (?:reply|response|letter|note) to the\b",
    r"\b(?:do not|don't|never)\s+(?:ever\s+)?(?:give|state|reveal|solve|answer|choose|pick|provide|name|use)"
    r"(?:\s+(?:the|a|an|any|one|it|your))?(?:\s+(?:final|correct|right))?(?:\s+(?:answer|problem|question|result|solution|option|label|one))?"
    r"\s*(?:[.;,!:]|$|\band\b|\bonly\b)",
    r"\bask (?:the user|me\b|for (?:more|further) (?:information|detail))|\bclarifying question",
    r"\b(?:code|program|script)\b[^.\n]*\b(?:do not run|without running|and nothing else|only)\b",
)
_BY_TASK = {
    "number": (
        rf"\b{_ANSWER}\b[^.\n]{{0,40}}\b(?:as|in) (?:an? )?(?:roman numerals?|binary|hexadecimal|words|letters)\b",
        r"\binstead of (?:digits|an? (?:single |exact |plain )*number)\b",
        r"\b(?:answer|reply|respond) with (?:only )?(?:yes or no|true or false|an? letter)\b",
    ),
    "label": (
        r"\b(?:rate|score|grade)\b[^.\n]{0,50}\b(?:from|between|out of|on a scale)\b",
        r"\b(?:give|answer|reply|respond|state)\b[^.\n]{0,40}\b(?:a number|a score|probability|percentage|stars)\b",
    ),
}
_BY_TASK["choice"] = _BY_TASK["label"]
_MARKERS = ("####", "\\boxed", "<answer>")
"""by which answers are found; a prompt that asks for one of them must go on asking for one"""


def changes_task(text: str, original: str, kind: str) -> bool:
    if any(marker in original for marker in _MARKERS) and not any(marker in text for marker in _MARKERS):
        return True
    patterns = (*_ANY_TASK, *_BY_TASK.get(kind, ()))
    return any(_asks(pattern, text) and not _asks(pattern, original) for pattern in patterns)


def _asks(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.MULTILINE) is not None
