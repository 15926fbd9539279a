"""Errors of many houses are understood, and none of them can break the reading."""

import json

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.errors import complaint_in, diagnose, error_in, fault_of, read_error

from .cases import CASES, Case

OPENAI = endpoint_of("openai", ProviderSettings())


def _sent(case: Case) -> bytes:
    return (case.body if isinstance(case.body, str) else json.dumps(case.body)).encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.status} {str(case.body)[:60]}")
def test_an_error_is_classified_and_told_whatever_house_worded_it(case: Case) -> None:
    complaint = complaint_in(httpx2.Response(case.status, content=_sent(case)))
    assert fault_of(complaint) is case.fault
    assert case.words in complaint.words and complaint.param == case.param
    told = str(diagnose(complaint, OPENAI, "http://127.0.0.1"))
    assert case.words in told and "<" not in told and len(told) < 1_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "detail", "message", "msg", "loc", "code", "param", "metadata", "raw"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_no_body_can_break_the_reading(body: object) -> None:
    said = read_error(body)
    assert all(isinstance(part, str) for part in said[:3]) and (said.status is None or 400 <= said.status < 600)


@given(st.binary(max_size=200))
def test_no_bytes_can_break_the_reading(content: bytes) -> None:
    assert isinstance(error_in(content).words, str)
