"""The simulated rewriter of prompts and judge of replies, for prompt evolution.

The rewriter mostly does what the request says, and mostly well. It knows the families of the landscape like an experienced prompt
author. It has sentences for each family, adds or removes them, and after failures it examines the kind of problem that failed.
Sometimes it adds a harmful sentence, or does not answer properly.

The judge requires a short expected answer to match the reply's answer. For a longer one, it counts the words that occur in the
reply. It makes small errors, and sometimes omits the rating.
"""

import re
from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.base import Dice, Responder, SimulatedReply, texts
from tidepool.engine.simulated.landscape import REMEDIES, noticed, read_prompt
from tidepool.engine.simulated.mutation import FUNCTION_WORDS, words_of
from tidepool.engine.studies.evolution.genome import join_segments, split_segments
from tidepool.engine.studies.evolution.problems.problem_set import recognise
from tidepool.engine.studies.evolution.rewrites import SYSTEM, TASKS
from tidepool.engine.studies.evolution.tasks.judge import JUDGE as JUDGE_SYSTEM
from tidepool.engine.studies.evolution.tasks.judge import SCALE
from tidepool.engine.studies.evolution.tasks.task import match

_TEXTS = texts("rewriter")
ADVICE: dict[str, tuple[str, ...]] = _TEXTS["advice"]
"""sentences by family of the landscape"""
UNHELPFUL: tuple[str, ...] = _TEXTS["unhelpful"]
JUNK: tuple[str, ...] = _TEXTS["junk"]
WANTED = ("step", "check", "parse", "algebra", "methods")
"""families that help with built-in problems, which it uses if it knows one of the failed problems"""
_EVERYTHING = tuple(ADVICE)
_SYNONYMS: dict[str, str] = _TEXTS["synonyms"]
_WORD = re.compile(r"[A-Za-z]+")
_PROMPT = re.compile(r"<prompt>\n(.*?)\n</prompt>", re.DOTALL)
_PROBLEM = re.compile(r"<problem>\n(.*?)\n</problem>", re.DOTALL)
_KIND_OF_TASK = {task: kind for kind, task in TASKS.items()}
_JUNK_RATE = 0.03
_UNHELPFUL_RATE = {"elaborate": 0.3, "reflect": 0.15}


def rewrite_prompt(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    request = messages[-1].text if messages else ""
    kind = _KIND_OF_TASK.get(request.partition("\n\n")[0])
    match = _PROMPT.search(request)
    if system != SYSTEM or kind is None or match is None:
        return SimulatedReply(request, "unchanged")
    dice = Dice(seed)
    if dice.unit() < _JUNK_RATE:
        return SimulatedReply(dice.pick(JUNK), "junk")
    segments = list(split_segments(match[1]))
    chance = noticed(request) if kind == "reflect" else 0.0
    if chance and dice.unit() < chance:
        segments.insert(int(dice.unit() * (len(segments) + 1)), dice.pick(REMEDIES))
        change = "added: remedy"
    elif kind == "reflect":
        known = any(map(recognise, _PROBLEM.findall(request)))
        change = _add(segments, WANTED if known else _EVERYTHING, kind, dice)
    elif kind == "elaborate":
        change = _add(segments, _EVERYTHING, kind, dice)
    else:
        change = {"shorten": _shorten, "rephrase": _rephrase}[kind](segments, dice)
    return SimulatedReply(f"<prompt>{join_segments(segments)}</prompt>", change)


def _add(segments: list[str], families: Sequence[str], kind: str, dice: Dice) -> str:
    """Adds a sentence, of a family that is not there yet if possible."""
    if dice.unit() < _UNHELPFUL_RATE[kind]:
        segments.append(dice.pick(UNHELPFUL))
        return "added: unhelpful"
    present = {name for name, _ in read_prompt(join_segments(segments)).hints}
    family = dice.pick([name for name in families if name not in present] or families)
    place = int(dice.unit() * (len(segments) + 1))
    segments.insert(place, dice.pick(ADVICE[family]))
    return f"added: {family}"


def _shorten(segments: list[str], dice: Dice) -> str:
    """Removes a sentence, mostly a useless one."""
    if len(segments) < 2:
        words = segments[0].split()
        segments[0] = " ".join(words[: max(2, len(words) * 3 // 4)]).rstrip(",;") + "."
        return "cut"
    idle = [index for index, text in enumerate(segments) if not read_prompt(text).hints or read_prompt(text).harms]
    choice = idle if idle and dice.unit() < 0.75 else range(len(segments))
    del segments[dice.pick(choice)]
    return "dropped"


def _rephrase(segments: list[str], dice: Dice) -> str:
    """Rewords one sentence: another of the same family, or the same with synonyms."""
    first = int(dice.unit() * len(segments))
    for place in (*range(first, len(segments)), *range(first)):
        before = segments[place]
        family = next((name for name, _ in read_prompt(before).hints if name in ADVICE), None)
        if family and dice.unit() < 0.6:
            segments[place] = dice.pick(ADVICE[family])
        else:
            segments[place] = _WORD.sub(_synonym, before)
        if segments[place] != before:
            return f"reworded: {family}"
    segments[first] = f"Please note: {segments[first]}"
    return "reworded: None"


def _synonym(match: re.Match[str]) -> str:
    word = match[0]
    synonym = _SYNONYMS.get(word.lower(), word)
    return synonym.capitalize() if word[0].isupper() and synonym != word else synonym


_PART = r"<{0}>\n(?P<{0}>.*?)\n</{0}>"
_JUDGE_REQUEST = re.compile(
    rf"{_PART.format('question')}\n(?:{_PART.format('expected')}\n)?{_PART.format('reply')}\Z", re.DOTALL
)
_FORGETS, _ERRS = 0.005, 0.1
_SHORT = 3
"""an expected answer of up to this many words must be the reply's answer"""
_FULL = 25
"""different words in a complete reply, if there is no expected answer"""


def judge_reply(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    match, dice = _JUDGE_REQUEST.search(messages[-1].text), Dice(seed)
    if match is None or dice.unit() < _FORGETS:
        return SimulatedReply("It is hard to say what this is worth.", "unrated")
    share = _share(match["expected"], match["reply"])
    slip = dice.pick((-1, 1)) if dice.unit() < _ERRS else 0
    rating = min(SCALE[1], max(SCALE[0], round(SCALE[1] * share) + slip))
    reason = "It says what is expected." if share > 0.8 else "Something of what is expected is missing."
    return SimulatedReply(f"{reason}\nRating: {rating:g}", f"{share:.2f}")


def _share(expected: str | None, reply: str) -> float:
    reply_words = set(words_of(reply)) - FUNCTION_WORDS
    if not expected:
        return min(1.0, len(reply_words) / _FULL)
    if len(expected.split()) <= _SHORT:
        return match(reply, expected).worth
    wanted = set(words_of(expected)) - FUNCTION_WORDS
    return len(wanted & reply_words) / len(wanted) if wanted else 0.0


REWRITER = Responder(rewrite_prompt, recognises=lambda system: system == SYSTEM)
JUDGE = Responder(judge_reply, recognises=lambda system: system.startswith(JUDGE_SYSTEM))
