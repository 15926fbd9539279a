"""The labelled messages of `detection_cases`: what is promised holds for them, and what is published is what they give."""

import pytest

from benchmarks.detectors import (
    FALSE_ALARMS,
    FIGURES,
    PAGE,
    SENSITIVITY,
    Case,
    counted,
    figures,
    judged_cases,
    total,
    with_tables,
)

Judged = list[tuple[Case, str]]


@pytest.fixture(scope="module")
def judged() -> Judged:
    return judged_cases()


def told(judged: Judged, label: str, verdicts: tuple[str, ...]) -> str:
    return "\n".join(
        f"{case.id} {case.category}: {case.secret!r} in {case.messages}: {verdict}"
        for case, verdict in judged
        if case.group == label and verdict in verdicts
    )


def test_the_cases_are_many_and_each_is_there_once(judged: Judged) -> None:
    assert len(judged) >= 590
    assert len({(case.half, case.id) for case, _ in judged}) == len(judged)


def test_reveals_in_scope_are_found(judged: Judged) -> None:
    reveals = total(counted(judged), "reveal")
    assert reveals.certain / reveals.cases >= SENSITIVITY, told(judged, "reveal", ("nothing", "uncertain"))


def test_everyday_text_raises_no_alarm(judged: Judged) -> None:
    everyday = total(counted(judged), "none")
    assert everyday.certain / everyday.cases <= FALSE_ALARMS, told(judged, "none", ("certain",))


def test_what_could_be_either_is_rarely_taken_for_a_reveal(judged: Judged) -> None:
    either = total(counted(judged), "uncertain")
    assert either.certain / either.cases <= 0.1, told(judged, "uncertain", ("certain",))


def test_the_published_figures_are_those_of_the_cases(judged: Judged) -> None:
    anew = "make them anew: python -m benchmarks.detectors"
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, judged) == page, anew
    assert figures(judged) == FIGURES.read_text(encoding="utf-8"), anew
