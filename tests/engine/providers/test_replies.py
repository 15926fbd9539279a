"""What a reply comes to, by what the provider sent: a table of labelled replies, everyday and nasty."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.adapters import adapter
from tidepool.engine.call import Call, PriceTag
from tidepool.engine.providers.protocol import Answer, ErrorClass
from tidepool.engine.providers.replies import MOST_TOKENS, UnusableReply, split_thought
from tidepool.storage.states import FinishReason as F

PRICE = PriceTag(1.0, 10.0)
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
SECRET = "marigold"
QUESTION = Call("t1", 1, "openai:gpt-4o-mini", ())


def openai_answer(reply: dict[str, Any], tag: PriceTag) -> Answer:
    return adapter("openai").answer(reply, QUESTION, tag)


def anthropic_answer(reply: dict[str, Any], tag: PriceTag) -> Answer:
    return adapter("anthropic").answer(reply, QUESTION, tag)


def openai_reply(finish: Any = "stop", usage: Any = USAGE, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "model": "gpt-served", "choices": [choice], "usage": usage}


def anthropic_reply(stop: Any = "end_turn", *blocks: dict[str, Any], usage: Any = None) -> dict[str, Any]:
    return {
        "id": "m",
        "model": "claude-served",
        "content": list(blocks),
        "stop_reason": stop,
        "usage": usage or {"input_tokens": 10, "output_tokens": 5},
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


class Case(NamedTuple):
    reply: dict[str, Any]
    finish: F
    said: str
    usable: bool
    thought: str | None = None
    heals: bool = False


TOOL = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
OPENAI = {
    "an answer": Case(openai_reply(content="hello"), F.COMPLETE, "hello", True),
    "no reason given": Case(openai_reply(None, content="hello"), F.COMPLETE, "hello", True),
    "an unknown reason": Case(openai_reply("because", content="hello"), F.COMPLETE, "hello", True),
    "a reason that is a number": Case(openai_reply(7, content="hello"), F.COMPLETE, "hello", True),
    "in parts": Case(openai_reply(content=[text("he"), text("llo")]), F.COMPLETE, "hello", True),
    "in parts with nulls": Case(openai_reply(content=[text("hello"), None, {"type": "x"}]), F.COMPLETE, "hello", True),
    "in parts that are texts": Case(openai_reply(content=["he", "llo"]), F.COMPLETE, "hello", True),
    "cut": Case(openai_reply("length", content="hel"), F.CUT, "hel", True),
    "cut, as another house says": Case(openai_reply("MAX_TOKENS", content="hel"), F.CUT, "hel", True),
    "filtered": Case(openai_reply("content_filter", content=None), F.FILTERED, "", False),
    "filtered half-way": Case(openai_reply("content_filter", content="hel"), F.FILTERED, "hel", False),
    "filtered by Gemini": Case(openai_reply("SAFETY", content=""), F.FILTERED, "", False),
    "a tool alone": Case(openai_reply("tool_calls", content=None, tool_calls=TOOL), F.TOOL, "", False),
    "a tool alone that says stop": Case(openai_reply("stop", content="", tool_calls=TOOL), F.TOOL, "", False),
    "a tool and words": Case(openai_reply("tool_calls", content="hi", tool_calls=TOOL), F.TOOL, "hi", True),
    "empty": Case(openai_reply(content=""), F.EMPTY, "", False, heals=True),
    "null": Case(openai_reply(content=None), F.EMPTY, "", False, heals=True),
    "blank": Case(openai_reply(content=" \n\t "), F.EMPTY, "", False, heals=True),
    "without content": Case(openai_reply(), F.EMPTY, "", False, heals=True),
    "a number": Case(openai_reply(content=42), F.EMPTY, "", False, heals=True),
    "broken off": Case(openai_reply("error", content="hel"), F.ERROR, "hel", False, heals=True),
    "out of resources": Case(openai_reply("insufficient_system_resource", content=""), F.ERROR, "", False, heals=True),
    "declined": Case(openai_reply(content=None, refusal="I won't."), F.REFUSED, "I won't.", True),
    "declined without words": Case(openai_reply("refusal", content=None), F.REFUSED, "", False),
    "reasoned": Case(openai_reply(content="hi", reasoning_content="hm"), F.COMPLETE, "hi", True, "hm"),
    "reasoned elsewhere": Case(openai_reply(content="hi", reasoning="hm"), F.COMPLETE, "hi", True, "hm"),
    "reasoned alone": Case(openai_reply("length", content=None, reasoning_content="hm"), F.EMPTY, "", False, "hm"),
    "reasoned unseen": Case(
        openai_reply(
            "length",
            {"prompt_tokens": 9, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 5}},
            content="",
        ),
        F.EMPTY,
        "",
        False,
    ),
    "thought in tags": Case(
        openai_reply(content=f"<think>it is {SECRET}</think>\n\nhello"), F.COMPLETE, "hello", True, f"it is {SECRET}"
    ),
    "tags alone": Case(openai_reply(content=f"<think>{SECRET}</think>"), F.EMPTY, "", False, SECRET),
    "tags not closed": Case(openai_reply("length", content=f"<think>{SECRET} …"), F.EMPTY, "", False, f"{SECRET} …"),
    "tags not opened": Case(
        openai_reply(content=f"so {SECRET}\n</think>\nhello"), F.COMPLETE, "hello", True, f"so {SECRET}"
    ),
}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
ANTHROPIC = {
    "an answer": Case(anthropic_reply("end_turn", text("hello")), F.COMPLETE, "hello", True),
    "by a stop sequence": Case(anthropic_reply("stop_sequence", text("hello")), F.COMPLETE, "hello", True),
    "no reason": Case(anthropic_reply(None, text("hello")), F.COMPLETE, "hello", True),
    "two blocks": Case(anthropic_reply("end_turn", text("he"), text("llo")), F.COMPLETE, "hello", True),
    "cut": Case(anthropic_reply("max_tokens", text("hel")), F.CUT, "hel", True),
    "cut by the context": Case(anthropic_reply("model_context_window_exceeded", text("h")), F.CUT, "h", True),
    "paused": Case(anthropic_reply("pause_turn", text("hel")), F.CUT, "hel", True),
    "declined": Case(anthropic_reply("refusal"), F.REFUSED, "", False),
    "declined in words": Case(anthropic_reply("refusal", text("No.")), F.REFUSED, "No.", True),
    "a tool alone": Case(anthropic_reply("tool_use", {"type": "tool_use", "id": "t"}), F.TOOL, "", False),
    "a tool and words": Case(
        anthropic_reply("tool_use", text("hi"), {"type": "tool_use", "id": "t"}), F.TOOL, "hi", True
    ),
    "empty": Case(anthropic_reply("end_turn"), F.EMPTY, "", False, heals=True),
    "thought": Case(anthropic_reply("end_turn", THINKING, text("hi")), F.COMPLETE, "hi", True, "hm"),
    "thought alone": Case(anthropic_reply("max_tokens", THINKING), F.EMPTY, "", False, "hm"),
    "redacted thought": Case(
        anthropic_reply("end_turn", {"type": "redacted_thinking", "data": "x"}, text("hi")), F.COMPLETE, "hi", True
    ),
}


@pytest.mark.parametrize("case", OPENAI.values(), ids=OPENAI.keys())
def test_a_reply_in_openais_words_is_what_it_says(case: Case) -> None:
    _check(case, openai_answer(case.reply, PRICE), "gpt-served")


@pytest.mark.parametrize("case", ANTHROPIC.values(), ids=ANTHROPIC.keys())
def test_a_reply_in_anthropics_words_is_what_it_says(case: Case) -> None:
    _check(case, anthropic_answer(case.reply, PRICE), "claude-served")


def _check(case: Case, answer: Answer, model: str) -> None:
    assert (answer.finish, answer.text, answer.usable) == (case.finish, case.said, case.usable)
    assert answer.thought == case.thought and SECRET not in answer.text
    assert answer.served_model == model and not answer.usage_missing and answer.cost_usd
    if not case.usable:
        assert (UnusableReply(answer).fault is ErrorClass.TRANSIENT) == case.heals


SERVED = {
    "/home/ada/models/x.gguf": "x.gguf",
    "/srv/weights/llama-3/": "llama-3",
    "C:\\Users\\Ada\\x.gguf": "x.gguf",
    "d:/models/x.gguf": "x.gguf",
    "\\\\server\\share\\x.gguf": "x.gguf",
    "file:///home/ada/x.gguf": "x.gguf",
    "file://server/share/x.gguf": "x.gguf",
    f"/{'long/' * 100}x.gguf": "x.gguf",
    "meta-llama/Llama-3-8B": "meta-llama/Llama-3-8B",
    "qwen3:32b": "qwen3:32b",
    "hf.co/lab/x-GGUF:Q4_K_M": "hf.co/lab/x-GGUF:Q4_K_M",
    "/": None,
    "": None,
}


@pytest.mark.parametrize(("reported", "stored"), SERVED.items())
def test_a_served_model_is_stored_without_the_folders_of_the_server(reported: str, stored: str | None) -> None:
    """llama.cpp reports the absolute path of its weights, which often holds a user's name."""
    assert openai_answer({**openai_reply(content="hi"), "model": reported}, PRICE).served_model == stored


SPLIT = {
    "plain words": ("plain words", "plain words", ""),
    "I think so": ("I think so", "I think so", ""),
    "tags in the middle": ("a<think>b</think> c", "ac", "b"),
    "twice": ("<think>a</think>b<think>c</think>d", "bd", "a\n\nc"),
    "nested": ("<think>a<think>b</think>c</think>d", "d", "a<think>b\n\nc"),
    "in capitals": ("<THINK>a</THINK>b", "b", "a"),
    "another tag": ("<thinking>a</thinking>\nb", "b", "a"),
    "reasoning": ("<reasoning>a</reasoning>b", "b", "a"),
    "a tag that is only named": ("use `<think>` for it", "use `<think>` for it", ""),
    "another tag named in the middle": ("the <reasoning> tag", "the <reasoning> tag", ""),
    "empty tags": ("<think></think>b", "b", ""),
    "space before": ("\n\n <think>a</think>b", "b", "a"),
}


@pytest.mark.parametrize(("reply", "words", "thought"), SPLIT.values(), ids=SPLIT.keys())
def test_thought_between_tags_is_told_from_what_is_said(reply: str, words: str, thought: str) -> None:
    assert split_thought(reply) == (words, thought)


@given(st.text(alphabet="ab \n<>/thinkTHINK", max_size=60), st.text(alphabet="xy\n", min_size=1, max_size=20))
def test_what_stands_in_closed_tags_is_never_said(around: str, thought: str) -> None:
    marked = f"S{thought}S"
    assert marked not in split_thought(f"<think>{marked}</think>{around}")[0]
    assert marked not in split_thought(f"{around} <think>{marked}</think>")[0]


NO_USAGE: list[Any] = [None, {}, [], "many", 7, {"prompt_tokens": None, "completion_tokens": 5}]
NO_COUNT: list[Any] = [-1, "10", 1e300, float("nan"), float("inf"), True, [10], {}, MOST_TOKENS + 1, 2.5, None]


@pytest.mark.parametrize("usage", NO_USAGE, ids=str)
def test_usage_that_is_none_is_flagged(usage: Any) -> None:
    answer = openai_answer(openai_reply(usage=usage, content="hello"), PRICE)
    assert answer.usage_missing and answer.usable and answer.cost_usd is None


@pytest.mark.parametrize("count", NO_COUNT, ids=str)
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"])
def test_a_count_that_is_none_is_flagged(name: str, count: Any) -> None:
    if name in USAGE:
        answer = openai_answer(openai_reply(usage={**USAGE, name: count}, content="hello"), PRICE)
    else:
        usage = {"input_tokens": 10, "output_tokens": 5, name: count}
        answer = anthropic_answer(anthropic_reply("end_turn", text("hello"), usage=usage), PRICE)
    assert answer.usage_missing and answer.usable


@pytest.mark.parametrize(("asked", "wrote"), [(0, 0), (0, 5), (10, 0)])
def test_words_without_tokens_are_not_believed(asked: int, wrote: int) -> None:
    usage = {"prompt_tokens": asked, "completion_tokens": wrote, "total_tokens": asked + wrote}
    answer = openai_answer(openai_reply(usage=usage, content="hello"), PRICE)
    assert answer.usage_missing and answer.usable and answer.cost_usd is None
    usage = {"input_tokens": asked, "output_tokens": wrote}
    answer = anthropic_answer(anthropic_reply("end_turn", text("hello"), usage=usage), PRICE)
    assert answer.usage_missing and answer.usable and answer.cost_usd is None


@pytest.mark.parametrize("name", ["total_tokens", "prompt_tokens_details", "completion_tokens_details"])
@pytest.mark.parametrize("value", [*NO_COUNT, {"cached_tokens": -5, "reasoning_tokens": "x"}], ids=str)
def test_an_odd_detail_of_the_usage_spoils_nothing(name: str, value: Any) -> None:
    answer = openai_answer(openai_reply(usage={**USAGE, name: value}, content="hello"), PRICE)
    assert (answer.input_tokens, answer.output_tokens, answer.usage_missing) == (10, 5, False)
    assert answer.cost_usd == PRICE.cost(10, 5)


def test_reasoning_is_counted_and_priced_wherever_it_stands() -> None:
    inside = {**USAGE, "completion_tokens_details": {"reasoning_tokens": 4}}
    beside = {**USAGE, "total_tokens": 115, "completion_tokens_details": {"reasoning_tokens": 100}}
    only_in_total = {**USAGE, "total_tokens": 115}
    for usage, reasoned, wrote in ((inside, 4, 5), (beside, 100, 105), (only_in_total, 100, 105)):
        answer = openai_answer(openai_reply(usage=usage, content="hello"), PRICE)
        assert (answer.reasoning_tokens, answer.output_tokens) == (reasoned, wrote)
        assert answer.cost_usd == PRICE.cost(10, wrote)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON, JSON, JSON)
def test_no_odd_value_raises_more_than_the_provider_expects(finish: Any, content: Any, usage: Any, model: Any) -> None:
    reply = {"model": model, "usage": usage, "choices": [{"finish_reason": finish, "message": {"content": content}}]}
    answer = openai_answer(reply, PRICE)
    assert isinstance(answer.text, str) and isinstance(answer.finish, F)
    message = {"model": model, "usage": usage, "stop_reason": finish, "content": [{"type": "text", "text": content}]}
    assert isinstance(anthropic_answer(message, PRICE).text, str)
