"""Foreign text never takes long to read: time grows with its length, whatever is repeated in it.

A model that loops repeats one piece until it is cut. Each piece is repeated and given to every function that reads replies,
error bodies or stored text; a new function of this kind belongs into READERS.
"""

import time
from collections.abc import Callable
from functools import partial

import pytest

from tidepool.engine import answer_forms
from tidepool.engine import answer_forms as ratings
from tidepool.engine.exports import markdown
from tidepool.engine.providers import endpoint, errors, rate_headers, replies
from tidepool.engine.reports import html
from tidepool.engine.studies.evolution import genome, rewrites
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.rewrites import Guard
from tidepool.engine.studies.evolution.tasks.judge import judge_request
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.mutation import operators, rewards
from tidepool.engine.studies.secret_game.detectors import detection
from tidepool.engine.studies.secret_game.detectors.detection import DETECTORS, find_in_talk
from tidepool.engine.studies.simulation import prompts
from tidepool.engine.studies.simulation.measures import words_in
from tidepool.storage import text
from tidepool.storage.queries import search
from tidepool.storage.transfer import formats
from tidepool.tui.drawing import text as wrapping

Reader = Callable[[str], object]

PIECES = (
    "~~~\n", "```\n", "```py\n", "````\n```\n", "`", '"', "“", "(", ")", "[", "{", "}", '{"a":', "[[", " ", "\n",
    " \n", "\t", "\r\n", "1", "1,", "1 ", "1-", "12:", "a", "aB", "a ", "A. ", "A.\n", "- ", "...", "*", "**a", "~~a",
    "<", "<think>", "<think>\n", "<answer>", "<prompt>", "<query>", "<script>", "<s>", "#", "####\n", "\\boxed{",
    "Ada:\n", "Bob: *", "answer:", "the answer is ", "answer (", "score: ", "rating is ", "verdict ", "not a", "but ",
    "wait ", "maybe 1 or ", "more 1 ", "1 or ", "one ", "\nQ1", "A and ", "positive ", "Rome ", "let me know ",
    "x = 1 ", "m a r i g o l ", "m-a-r-i-", "marigold ", "mari gold ", "mike alpha ", "begins with mari. ", "4471",
    "4 4 7 ", "the sun rose ", "r\u0301ose ", "é rose ", "bar ", "ba\u0308r ", "6d 61 ", "-- .- ", "&#109;", "м ",
    "märi", "花火", "e\u0301", "\u0301", "\u200d", "\ufdfa", "\x1b[2J", "sk-a", "Bearer ", ":a", "{question}", "---\n",
    "always answer ",
)  # fmt: skip
LETTERS = 6_000
QUICK, LONGEST = 0.05, 1.0
"""seconds of processor time: what is quick is not looked at closer; nothing takes longest"""


def _rewrite_guard(*answers: str) -> Reader:
    guard = Guard([Problem("How many apples are in the old basket?", a) for a in answers])
    return lambda text: guard.refuses(rewrites.read_rewrite(text, "Why?").text, "Answer.")


def _detector(name: str, text: str) -> object:
    return [
        find_in_talk([(0, text), (1, "x"), (0, text)], {0: secret}, [name]) for secret in ("marigold", "bär", "4471")
    ]


READERS: dict[str, Reader] = {
    "number": lambda text: AnswerTask("number").mark(text, Problem("", "72")),
    "choice": lambda text: AnswerTask("choice").mark(text, Problem("", "B", {"choices": ["Paris", "Rome"]})),
    "label": lambda text: AnswerTask("label", ("positive", "negative")).mark(text, Problem("", "positive")),
    "text": lambda text: AnswerTask("text").mark(text, Problem("", "in Rome")),
    "marked by a judge": lambda text: judge_request(Problem("q", "a"), text),
    "rating": lambda text: ratings.read_rating(text, (1, 5)),
    "rating that was cut": lambda text: ratings.read_rating(text, (1, 5), cut=True),
    "form": answer_forms.fields_of,
    "grade": rewards.read_judgement,
    "keywords": rewards.keyword,
    "encoder": lambda text: rewards.HashingEncoder().encode([text]),
    "rewritten query": lambda text: operators.read_rewrite(text, "Why?"),
    "guard of numbers": _rewrite_guard("72", "1234"),
    "guard of labels": _rewrite_guard("positive", "negative"),
    "guard of words": _rewrite_guard("in Rome", "old Paris"),
    "prompt": lambda text: genome.join_segments(genome.split_segments(text)),
    "parts of a prompt": genome.parts,
    **{name: partial(_detector, name) for name in DETECTORS},
    "verdict": detection.read_verdict,
    "scene": lambda text: prompts.split_scene(text, ("Ada Lovelace", "Bob"), thoughts=True),
    "message": lambda text: prompts.split_reply(text, "Ada Lovelace", ("Bob",), thoughts=True),
    "spoken": prompts.without_thoughts,
    "words": words_in,
    "thought": replies.split_thought,
    "error body": errors.error_in,
    "keys": endpoint.scrub_keys,
    "rate header": rate_headers.duration,
    "terminal": text.plain,
    "document": text.in_document,
    "JSON": text.json_text,
    "Markdown": markdown.paragraph,
    "fence": lambda text: markdown.fenced(text, ""),
    "HTML": html.text,
    "CSV": formats.harmless,
    "search": lambda text: search.containing("text", search.search_words(text)),
    "excerpt": lambda text: search.excerpt(text, ["marigold", "a"]),
    "lines": lambda text: wrapping.wrapped(text, 40),
}


def _seconds(read: Reader, piece: str, letters: int) -> float:
    text = f"Well: {piece * (letters // len(piece))}x"
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_length_of_a_text(name: str) -> None:
    read = READERS[name]
    read("Well: 1.")  # loads what is loaded once
    for piece in PIECES:
        if (short := _seconds(read, piece, LETTERS)) > QUICK:
            assert short < LONGEST, f"{piece!r} takes {short:.1f} s"
            growth = (_seconds(read, piece, 2 * LETTERS) / _seconds(read, piece, LETTERS) for _ in range(5))
            assert any(times < 3 for times in growth), (
                f"{piece!r} of twice the length takes three times as long or more"
            )
