"""JSON at the border is read and written quickly, and means the same as Python's own."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tidepool.engine.providers.replies import decode_json, encode_json

ODD = [
    *(b"", b" {} ", b"[1,]", b"01", b"-0", b"1.0e5", b"[1e999]", b"NaN", b"[Infinity, -Infinity]", b'{"a": 1} x'),
    *(b'{"a": 1, "a": 2}', b"\xef\xbb\xbf{}", b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"tab\there"', b'"a\x01b"'),
    *(rb'"\ud800"', rb'"\ud83d\ude00"', b"1" * 400, b"0.1234567890123456789", b"[" * 300 + b"]" * 300),
    *('{"x": "é"}'.encode("utf-16"), b"[" * 200_000, b"<html>", b"null", b"nul"),
]
TREES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(some.characters()),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def outcome(read: Any, content: bytes) -> str:
    try:
        return repr(read(content))
    except (ValueError, RecursionError) as error:
        return type(error).__name__


@pytest.mark.parametrize("content", ODD, ids=lambda content: repr(content[:24]))
def test_what_is_odd_is_read_as_python_reads_it(content: bytes) -> None:
    assert outcome(decode_json, content) == outcome(json.loads, content)


@given(TREES)
def test_what_goes_out_and_comes_back_is_the_same(tree: Any) -> None:
    plain = json.dumps(tree, ensure_ascii=False).encode("utf-8", "replace")
    assert repr(decode_json(encode_json(tree))) == repr(json.loads(plain)) == repr(decode_json(plain))
