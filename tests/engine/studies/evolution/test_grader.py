"""What a verdict keeps."""

import pytest

from tidepool.engine.studies.evolution.tasks.verdict import Unmarked, Verdict, stored_verdict


@pytest.mark.parametrize(
    "mark",
    [
        Verdict("12", True, 5, 1.0),
        Verdict("0.5", False, 5, 0.5, {"unmarked": 3.0, "note": 1.0, "words": 7.0}),
        Verdict(None, None, 5, unclear="no answer could be read"),
        Verdict(None, True, 5, 1.0, unclear="no answer could be read, and a judge has marked it"),
        Verdict("7", True, 5, 1.0, {"unclear": 2.0}),
        Unmarked("the judge gave no clear rating"),
    ],
)
def test_a_mark_is_read_back_as_it_was_whatever_its_metrics_are_called(mark: Verdict | Unmarked) -> None:
    empty = {"extracted": None, "correct": None, "score": None, "details": None}
    assert stored_verdict({**empty, **mark.columns()}, 5) == mark
    assert stored_verdict(empty, 5) is None
