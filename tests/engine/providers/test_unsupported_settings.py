"""A setting that a server does not take is known by its complaint, in whatever words; other complaints teach nothing."""

import json
from typing import Any

import httpx
import ollama
import pytest

from tests.emulator import Emulator
from tests.support.state import log_of
from tidepool.engine.call import Call, Message
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.errors import ProviderComplaint, complaint_about, error_in
from tidepool.engine.providers.ollama import OllamaProvider
from tidepool.engine.providers.openai import OpenAIRequestFormat
from tidepool.engine.providers.protocol import Notices
from tidepool.engine.providers.unsupported_settings import SYSTEM_ROLE, UnsupportedSettings

from .conftest import MODELS, Talks

ALL = ("temperature", "seed", "reasoning_effort", "response_format", SYSTEM_ROLE, "max_completion_tokens", "max_tokens")
CLAUDE = ("temperature", "thinking", "output_config")


def _fastapi(msg: str, *loc: object) -> dict[str, Any]:
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", *loc], "msg": msg}]}


def _openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


@pytest.mark.parametrize(
    ("status", "body", "setting"),
    [
        (400, _openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens"), "max_tokens"),
        (400, {"error": "max_tokens is unsupported, use max_completion_tokens"}, "max_tokens"),
        (422, _fastapi("Extra inputs are not permitted", "max_completion_tokens"), "max_completion_tokens"),
        (400, {"detail": "Unrecognized request argument supplied: max_completion_tokens"}, "max_completion_tokens"),
        (422, _fastapi("Extra inputs are not permitted", "seed"), "seed"),
        (422, _fastapi("Input should be less than 1000", "seed"), "seed"),
        (400, {"message": "seed: this field is not allowed"}, "seed"),
        (400, [{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}], "seed"),
        (500, {"detail": "generate() got an unexpected keyword argument 'seed'"}, "seed"),
        (400, _openai("Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), "temperature"),
        (400, {"error": "temperature: only the default (1) value is supported"}, "temperature"),
        (400, {"error": {"message": "litellm.UnsupportedParamsError: x does not support parameters: ['temperature'], for model"}}, "temperature"),
        (400, _openai("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"),
        (422, _fastapi("Input should be 'low', 'medium' or 'high'", "reasoning_effort"), "reasoning_effort"),
        (400, _openai("Invalid value", "reasoning.effort"), None),
        (400, _openai("This model does not support reasoning"), "reasoning_effort"),
        (400, {"error": "'response_format.type' must be 'text'"}, None),
        (400, _openai("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "response_format"), "response_format"),
        (400, _openai("Invalid schema", "response_format.json_schema.schema"), "response_format"),
        (501, {"error": {"code": 501, "message": "structured outputs are not implemented", "type": "not_supported_error"}}, "response_format"),
        (400, {"error": "Only user and assistant roles are supported!"}, SYSTEM_ROLE),
        (500, {"error": {"code": 500, "message": "Jinja Exception: System role not supported", "type": "server_error"}}, SYSTEM_ROLE),
        (400, _openai("Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role"), SYSTEM_ROLE),
        (422, _fastapi("Input should be 'user' or 'assistant'", "messages", 0, "role"), SYSTEM_ROLE),
        (400, _openai("Developer instruction is not enabled for models/gemma-3-27b-it"), SYSTEM_ROLE),
        (400, {"error": "Conversation roles must alternate user/assistant/user/assistant/..."}, SYSTEM_ROLE),
        (200, {"error": {"code": 400, "message": "Unsupported parameter: seed", "param": "seed"}}, "seed"),
        # about something else
        (400, _openai("temperature must be at most 2", "temperature"), None),
        (400, _openai("max_tokens is too large: 99999", "max_tokens"), None),
        (400, _openai("Unsupported image"), None),
        (400, _openai("This model's maximum context length is 8192 tokens"), None),
        (429, _openai("Unsupported traffic of seed"), None),
        (500, {"detail": "seed is unsupported"}, None),
        (400, {"error": "the linseed is not supported"}, None),
        (400, {"error": "The prompt was blocked by the system's policy"}, None),
        (400, {"error": "unknown model, the user role and the format"}, None),
        (422, _fastapi("Field required", "messages", 0, "content"), None),
    ],
)  # fmt: skip
def test_a_complaint_names_the_setting_to_leave_out(status: int, body: object, setting: str | None) -> None:
    complaint = complaint_about(status, error_in(json.dumps(body)))
    assert UnsupportedSettings(Notices(), ALL).find(complaint) == setting


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ("temperature: Extra inputs are not permitted", "temperature"),
        ("thinking: Extra inputs are not permitted", "thinking"),
        ("adaptive thinking is not supported on this model", "thinking"),
        ("output_config: Extra inputs are not permitted", "output_config"),
        ("This model does not support the effort parameter.", "output_config"),
        ("max_tokens: 99999 > 64000", None),
        ("messages: text content blocks must be non-empty", None),
    ],
)
def test_claude_complains_in_words_alone(words: str, setting: str | None) -> None:
    complaint = ProviderComplaint(400, code="invalid_request_error", words=words)
    assert UnsupportedSettings(Notices(), CLAUDE).find(complaint) == setting


@pytest.mark.parametrize("first", ["user", "assistant"])
def test_a_system_prompt_that_is_refused_stands_at_the_head_of_the_first_message(first: str) -> None:
    told: list[str] = []
    notices = Notices()
    notices.listen(told.append)
    wire = OpenAIRequestFormat(notices, foreign=True)
    call = Call("t1", 1, "lab:gemma", (Message(first, "hello"), Message("user", "and?")), system="Be kind.")
    sent, refusal = wire.body(call, 1), ProviderComplaint(400, words="System role not supported")
    assert wire.learn(call, refusal, sent) and wire.learn(call, refusal, sent)
    said = [(message["role"], message["content"]) for message in wire.body(call, 1)["messages"]]
    merged = [("user", "Be kind.\n\nhello")] if first == "user" else [("user", "Be kind."), ("assistant", "hello")]
    assert said == [*merged, ("user", "and?")]
    assert len(told) == 1 and not wire.learn(call, refusal, wire.body(call, 1)), "no endless loop"
    assert wire.body(call._replace(model="lab:other"), 1)["messages"][0]["role"] == "system", "learned for its model"


def test_both_names_of_the_length_refused_end_the_trying() -> None:
    wire = OpenAIRequestFormat(Notices(), foreign=True)
    call = Call("t1", 1, "lab:gemma", (Message("user", "hello"),))
    for name, again in (("max_tokens", True), ("max_completion_tokens", False)):
        refusal = ProviderComplaint(422, words="Extra inputs are not permitted", param=name)
        assert wire.learn(call, refusal, wire.body(call, 1)) is again


@pytest.mark.parametrize("form", ["", "detail", "detail-list", "text"])
async def test_several_settings_are_learned_from_a_server_that_takes_none(
    emulator: Emulator, talks: Talks, form: str
) -> None:
    emulator.set_faults("openai", refused_settings=["seed", "temperature", "max_completion_tokens"], error_form=form)
    summary = await talks.play(MODELS["openai"], conversations=6)
    assert summary["status"] == "completed" and summary["calls"]["retried"] == 0
    told = [line for line in log_of(talks.database, summary["batch_id"]) if " takes no " in line]
    assert len(told) == 2


async def test_a_local_model_that_cannot_think_is_asked_without() -> None:
    provider = OllamaProvider(ProviderSettings())
    sent: list[dict[str, Any]] = []

    class Client:
        async def _request_raw(self, method: str, path: str, json: dict[str, Any]) -> httpx.Response:
            sent.append(json)
            if "think" in json:
                raise ollama.ResponseError('"llama3.2" does not support thinking', 400)
            return httpx.Response(200, json={"message": {"role": "assistant", "content": "yes"}, "eval_count": 1})

    call = Call("t1", 1, "ollama:llama3.2", (Message("user", "hello"),), reasoning_effort="low")
    for _ in range(2):
        assert (await provider.ask(Client(), call, 1)).text == "yes"
    assert ["think" in request for request in sent] == [True, False, False]
