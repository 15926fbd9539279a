"""What is sent to OpenAI and its like, and what their answers mean."""

import pytest

from tidepool.engine.call import Call, Message, PriceTag
from tidepool.engine.providers.errors import ProviderComplaint
from tidepool.engine.providers.openai import OpenAIRequestFormat, answer_of
from tidepool.engine.providers.protocol import Notices

CALL = Call("t1", 1, "openai:gpt-4o-mini", (Message("user", "hello"),), system="Be kind.", temperature=0.7)
TAG = PriceTag(1.0, 10.0, cache_read=0.1)


def test_a_call_is_sent_with_all_its_settings() -> None:
    assert OpenAIRequestFormat(Notices(), foreign=False).body(CALL, 2**40 + 5) == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}],
        "max_completion_tokens": 300,
        "temperature": 0.7,
        "seed": 5,
    }


@pytest.mark.parametrize(
    ("foreign", "model", "name"),
    [
        (False, "anything", "max_completion_tokens"),
        (True, "gpt-6-luna", "max_completion_tokens"),
        (True, "o4-mini", "max_completion_tokens"),
        (True, "meta-llama/Llama-3.3-70B", "max_tokens"),
    ],
)
def test_the_length_goes_by_the_name_that_the_server_knows(foreign: bool, model: str, name: str) -> None:
    body = OpenAIRequestFormat(Notices(), foreign).body(CALL._replace(model=f"openai:{model}"), 1)
    assert body[name] == 300


def test_a_refused_setting_is_left_out_from_then_on_and_told_once() -> None:
    told: list[str] = []
    notices = Notices()
    notices.listen(told.append)
    wire = OpenAIRequestFormat(notices, foreign=False)
    sent = wire.body(CALL, 1)
    refusal = ProviderComplaint(
        400, code="unsupported_value", words="'temperature' does not support 0.7", param="temperature"
    )
    assert wire.learn(CALL, refusal, sent) and wire.learn(CALL, refusal, sent), "two calls may meet the same refusal"
    assert "temperature" not in wire.body(CALL, 1) and len(told) == 1
    assert not wire.learn(CALL, refusal, wire.body(CALL, 1)), "leaving it out did not help: no endless loop"


@pytest.mark.parametrize(
    "complaint",
    [
        ProviderComplaint(400, words="temperature must be at most 2", param="temperature"),
        ProviderComplaint(400, words="max_tokens is too large: 99999", param="max_tokens"),
        ProviderComplaint(429, words="Unsupported traffic of temperature"),
        ProviderComplaint(400, words="Unsupported image"),
    ],
)
def test_other_refusals_teach_nothing(complaint: ProviderComplaint) -> None:
    wire = OpenAIRequestFormat(Notices(), foreign=False)
    assert not wire.learn(CALL, complaint, wire.body(CALL, 1))


def _reply(**message: object) -> dict[str, object]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 50}}
    return {"choices": [{"message": message}], "usage": usage}


def test_cached_tokens_and_batches_cost_less() -> None:
    reply = _reply(content="yes")
    assert answer_of(reply, TAG).cost_usd == pytest.approx(50 + 5 + 100)
    assert answer_of(reply, TAG, batch=True).cost_usd == pytest.approx((50 + 5 + 100) / 2)
    assert answer_of(reply, None).cost_usd is None
