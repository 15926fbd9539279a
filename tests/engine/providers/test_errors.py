"""Every error is classified in one place, whatever house worded it: what heals, what is this request's, what stops the batch."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.errors import (
    ProviderComplaint,
    complaint_about,
    diagnose,
    error_in,
    fault_of,
    read_error,
)
from tidepool.engine.providers.protocol import ErrorClass
from tidepool.engine.providers.replies import decode_json, encode_json

HEALS, REFUSED, OURS, FATAL = ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED, ErrorClass.CLIENT, ErrorClass.FATAL
OPENAI, ANTHROPIC = (endpoint_of(name, ProviderSettings()) for name in ("openai", "anthropic"))


def _openai(
    message: object, kind: object = "invalid_request_error", param: object = None, code: object = None
) -> object:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _claude(kind: str, message: str, **more: object) -> object:
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


def _detail(msg: str, *loc: object) -> object:
    return {"detail": [{"type": "value_error", "loc": ["body", *loc], "msg": msg, "input": 1}]}


def _page(title: str, more: str = "") -> str:
    style = "<style>body { margin: 0; color: #333 }</style><script>var a = '<b>';</script>"
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title>{style}</head><body><h1>{title}</h1>{more}</body></html>"
    )


CASES: list[tuple[int, object, ErrorClass, str, str]] = [
    # OpenAI and Azure
    (400, _openai("Unsupported parameter: 'seed'", param="seed", code="unsupported_parameter"), OURS, "'seed'", "seed"),
    (400, _openai("Invalid 'messages[0].role'", param="messages[0].role"), OURS, "role", "messages[0].role"),
    (400, _openai("This model's maximum context length is 128000 tokens", code="context_length_exceeded"), OURS, "maximum", ""),
    (401, _openai("Incorrect API key provided", code="invalid_api_key"), FATAL, "Incorrect API key", ""),
    (404, _openai("The model `x` does not exist", code="model_not_found"), FATAL, "does not exist", ""),
    (429, _openai("Rate limit reached", "requests", code="rate_limit_exceeded"), REFUSED, "Rate limit", ""),
    (429, _openai("You exceeded your current quota", code="insufficient_quota"), FATAL, "quota", ""),
    (503, _openai("The engine is overloaded", "server_error"), HEALS, "overloaded", ""),
    # Anthropic
    (529, _claude("overloaded_error", "Overloaded"), HEALS, "Overloaded", ""),
    (429, _claude("rate_limit_error", "wait"), REFUSED, "wait", ""),
    (400, _claude("invalid_request_error", "Your credit balance is too low to go on"), FATAL, "credit balance", ""),
    (429, _claude("x", "limit", details={"error_code": "enforced_spend_limit_reached"}), FATAL, "limit", ""),
    (413, _claude("request_too_large", "Request exceeds"), OURS, "exceeds", ""),
    (404, _claude("not_found_error", "model: claude-x"), FATAL, "claude-x", ""),
    # FastAPI and vLLM
    (422, _detail("Extra inputs are not permitted", "seed"), OURS, "Extra inputs", "seed"),
    (422, _detail("Field required", "messages", 0, "content"), OURS, "Field required", "messages.0.content"),
    (401, {"detail": "Not authenticated"}, FATAL, "Not authenticated", ""),
    (503, {"detail": "Model is loading"}, HEALS, "loading", ""),
    (400, {"detail": {"error": {"message": "deep words", "param": "seed"}}}, OURS, "deep words", "seed"),
    (429, {"error": "Model is overloaded", "error_type": "overloaded"}, REFUSED, "overloaded", ""),
    # llama.cpp, LM Studio, Ollama, LiteLLM, OpenRouter
    (501, {"error": {"code": 501, "message": "This server does not support embeddings."}}, HEALS, "embeddings", ""),
    (400, {"error": "Only user and assistant roles are supported!"}, OURS, "Only user", ""),
    (404, {"error": 'model "x" not found, try pulling it first'}, FATAL, "pulling", ""),
    (400, _openai("litellm.BadRequestError", "None", "None", "400"), OURS, "BadRequest", ""),
    (402, {"error": {"message": "Insufficient credits", "code": 402}}, FATAL, "credits", ""),
    (400, {"error": {"message": "nope/x is not a valid model ID", "code": 400}, "user_id": "u"}, FATAL, "valid model ID", ""),
    (400, {"error": {"message": "Provider error", "metadata": {"raw": '{"error":{"message":"no seed"}}'}}}, OURS, "no seed", ""),
    # Google, Mistral, Cohere, Bedrock, gateways
    (400, [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}], FATAL, "API key not valid", ""),
    (429, [{"error": {"code": 429, "message": "exhausted", "status": "RESOURCE_EXHAUSTED"}}], REFUSED, "exhausted", ""),
    (401, {"message": "Unauthorized", "request_id": "r"}, FATAL, "Unauthorized", ""),
    (400, {"message": "invalid request: model 'x' not found", "id": "1"}, FATAL, "not found", ""),
    (403, {"title": "Forbidden", "status": 403, "detail": "No right to this"}, FATAL, "No right", ""),
    (400, {"error": "invalid_request", "error_description": "what is wrong with it"}, OURS, "what is wrong", ""),
    # no words at all, or odd ones
    (400, {}, OURS, "400", ""),
    (500, "", HEALS, "500", ""),
    (502, {"error": None}, HEALS, "502", ""),
    (400, {"error": {"message": "x" * 100_000}}, OURS, "xxx", ""),
    (400, {"error": {"message": "w", "param": ["a"], "code": {"b": 1}, "type": 7}}, OURS, "w", ""),
    (400, "[" * 200_000, OURS, "400", ""),
    # pages and plain words
    (502, _page("502 Bad Gateway", "<hr><center>nginx</center>"), HEALS, "502 Bad Gateway", ""),
    (403, _page("Attention Required! | Cloudflare", "<p>blocked</p>"), FATAL, "Attention Required", ""),
    (503, "<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Reduce it</Message></Error>", HEALS, "Reduce it", ""),
    (502, "upstream connect error or disconnect/reset before headers", HEALS, "upstream connect", ""),
    (400, "Bad Request: cannot parse\n\nbody", OURS, "cannot parse body", ""),
    # an error in a reply that says all is well
    (200, {"error": {"message": "Provider returned error", "code": 502}}, HEALS, "Provider returned", ""),
    (200, {"error": {"message": "slow", "code": "429"}, "choices": None}, REFUSED, "slow", ""),
    (200, {"error": {"message": "bad seed", "code": 400, "param": "seed"}}, OURS, "bad seed", "seed"),
    (200, {"error": "text alone", "choices": None}, HEALS, "text alone", ""),
    (200, _claude("authentication_error", "no such key"), FATAL, "no such key", ""),
    (200, {"error": {"code": "insufficient_quota", "message": "spent"}}, FATAL, "spent", ""),
    (200, {"message": "backend timeout", "status": 504}, HEALS, "backend timeout", ""),
    (200, {"error": {"message": "odd code", "code": 99999}}, HEALS, "odd code", ""),
]  # fmt: skip
"""status, body, what it comes to, what must be told, and the setting that it is about"""


@pytest.mark.parametrize(("status", "body", "fault", "words", "param"), CASES, ids=lambda part: str(part)[:40])
def test_an_error_is_classified_and_told(status: int, body: object, fault: ErrorClass, words: str, param: str) -> None:
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    complaint = complaint_about(status, error_in(content), {})
    assert fault_of(complaint) is fault
    assert words in complaint.words and complaint.param == param
    told = str(diagnose(complaint, OPENAI, "http://127.0.0.1"))
    assert words in told and "<" not in told and len(told) < 1_000


def test_what_stops_the_batch_carries_the_providers_words_and_advice() -> None:
    told = diagnose(ProviderComplaint(401, words="Incorrect API key provided"), OPENAI, "https://api.openai.com/v1")
    assert str(told) == (
        "OpenAI rejects all requests: Incorrect API key provided. Check the key in OPENAI_API_KEY, then resume."
    )
    spent = diagnose(ProviderComplaint(429, code="insufficient_quota", words="You exceeded your quota."), OPENAI, "")
    assert "Raise the account's spend limit" in str(spent)


def test_a_healing_error_says_where_and_how_long_to_wait() -> None:
    error = diagnose(ProviderComplaint(429, words="slow down", headers={"retry-after": "7"}), ANTHROPIC, "")
    assert (error.fault, error.retry_after) == (ErrorClass.RATE_LIMITED, 7.0)
    silent = diagnose(ProviderComplaint(None, words="reset"), OPENAI, "http://user:secret@127.0.0.1:9/v1")
    assert str(silent) == "OpenAI at 127.0.0.1:9 did not answer: reset"


NAMES = st.sampled_from(["error", "errors", "detail", "message", "msg", "loc", "code", "param", "metadata", "raw"])
TREES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(TREES, st.binary(max_size=200))
def test_no_body_can_break_the_reading(body: object, content: bytes) -> None:
    said = read_error(body)
    assert all(isinstance(part, str) for part in said[:3]) and (said.status is None or 400 <= said.status < 600)
    assert isinstance(error_in(content).words, str)


# -- JSON at the border ----------------------------------------------------------------------------------

ODD = [
    *(b"", b" {} ", b"[1,]", b"01", b"-0", b"1.0e5", b"[1e999]", b"NaN", b"[Infinity, -Infinity]", b'{"a": 1} x'),
    *(b'{"a": 1, "a": 2}', b"\xef\xbb\xbf{}", b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"tab\there"', b'"a\x01b"'),
    *(rb'"\ud800"', rb'"\ud83d\ude00"', b"1" * 400, b"0.1234567890123456789", b"[" * 300 + b"]" * 300),
    *('{"x": "é"}'.encode("utf-16"), b"[" * 200_000, b"<html>", b"null", b"nul"),
]


def outcome(read: Any, content: bytes) -> str:
    try:
        return repr(read(content))
    except (ValueError, RecursionError) as error:
        return type(error).__name__


@pytest.mark.parametrize("content", ODD, ids=lambda content: repr(content[:24]))
def test_odd_json_is_read_as_python_reads_it(content: bytes) -> None:
    assert outcome(decode_json, content) == outcome(json.loads, content)


@given(TREES)
def test_what_goes_out_and_comes_back_is_the_same(tree: Any) -> None:
    plain = json.dumps(tree, ensure_ascii=False).encode("utf-8", "replace")
    assert repr(decode_json(encode_json(tree))) == repr(json.loads(plain)) == repr(decode_json(plain))
