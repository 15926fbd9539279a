import re
from pathlib import Path

import pytest

from tidepool.engine.call import Message
from tidepool.engine.simulated.mutation import (
    EFFECTS,
    JUDGE,
    REWRITER,
    _recognised,
    answer_query,
    judge_answer,
    phrasings,
    rewrite_query,
    words_of,
)
from tidepool.engine.studies.mutation.operators import OPERATORS, operator_named, read_rewrite, rewrite_prompt
from tidepool.engine.studies.mutation.queries import builtin_queries
from tidepool.engine.studies.mutation.rewards import judge_prompt, read_judgement

REWRITING = [operator for operator in OPERATORS if operator.instruction]
QUERIES = builtin_queries()


def _rewrite(operator: str, query: str, seed: int = 1) -> str:
    system, asked = rewrite_prompt(operator_named(operator), query)
    assert REWRITER.recognises(system)
    text = read_rewrite(rewrite_query("rewriter", system, [Message("user", asked)], seed).text, query)
    assert text is not None
    return text


def _share(text: str, seed: int = 1) -> float:
    truth = answer_query("target", "", [Message("user", text)], seed).truth
    assert truth is not None
    return float(truth.split()[1])


@pytest.mark.parametrize("operator", [operator.name for operator in REWRITING])
def test_a_rewriting_leaves_its_mark_and_keeps_the_query_recognisable(operator: str) -> None:
    for query in QUERIES:
        for seed in (1, 2, 3):
            text = _rewrite(operator, query.text, seed)
            assert operator in phrasings(words_of(text))
            assert _recognised(words_of(text)) == query


@pytest.mark.parametrize("kind", EFFECTS)
def test_the_target_tells_more_or_less_as_the_table_says(kind: str) -> None:
    query = next(query for query in QUERIES if query.kind == kind)
    plain = _share(query.text)
    for operator, effect in EFFECTS[kind].items():
        assert _share(_rewrite(operator, query.text)) - plain == pytest.approx(effect, abs=0.011)


@pytest.mark.parametrize(
    ("answer", "grade"), [("Six minutes boiling, cold rinse", 1.0), ("six minutes", 0.4), ("no idea", 0.0), ("", 0.0)]
)
def test_the_judge_grades_by_the_share_of_the_reference_that_is_there(answer: str, grade: float) -> None:
    system, asked = judge_prompt("How long?", "Six minutes boiling, cold rinse.", answer)
    assert JUDGE.recognises(system)
    assert read_judgement(judge_answer("judge", system, [Message("user", asked)], 1).text) == grade


def test_the_documentation_shows_the_table_as_it_is() -> None:
    text = (Path(__file__).parents[3] / "docs" / "mutation.md").read_text(encoding="utf-8")
    for kind, effects in EFFECTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| {kind} |"))
        shown = [float(cell.replace("−", "-")) for cell in re.findall(r"[+−]?\d\.\d\d", row)]
        assert shown == [effects[operator.name] for operator in REWRITING]
