"""The log of purchases, which counts independently of the program under test."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from tests.emulator import Emulator
from tests.emulator.books import Books, Purchase
from tests.emulator.limits import SlidingMinute

from .wording import chat, input_file


def bought(custom_id: str) -> Purchase:
    return Purchase("openai", "batch", "gpt-4o-mini", f"hash of {custom_id}", 1, 2, custom_id, "batch_1")


async def test_a_request_has_one_hash_live_and_in_a_batch(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    await openai_client.chat.completions.create(**chat("No. 0"))
    file = await openai_client.files.create(file=("wave.jsonl", input_file(1)), purpose="batch")
    batch = await openai_client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    live, ordered = emulator.purchases
    assert live.content == ordered.content
    assert (ordered.transport, ordered.custom_id, ordered.batch_id) == ("batch", "c0", batch.id)


async def test_an_answer_function_sees_the_request_as_it_was_sent() -> None:
    async with (
        Emulator(answer=lambda request: request["messages"][0]["content"].upper()) as emulator,
        AsyncOpenAI(base_url=emulator.urls["openai"], api_key="any", max_retries=0) as client,
    ):
        reply = await client.chat.completions.create(**chat("whisper"))
    assert reply.choices[0].message.content == "WHISPER"


def test_the_file_of_purchases_is_read_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "purchases.jsonl"
    books = Books(path)
    books.book([bought("a"), bought("b"), bought("c")])
    books.strike("batch_1", {"b"})
    books.close()
    again = Books(path)
    assert again.purchases == [bought("a"), bought("c")]
    again.close()


def test_a_purchase_is_on_disk_before_the_answer_leaves(tmp_path: Path) -> None:
    books = Books(tmp_path / "purchases.jsonl")
    books.book([bought("a")])
    assert "hash of a" in (tmp_path / "purchases.jsonl").read_text()
    books.close()


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.integers(1, 5))
def test_no_minute_ever_holds_more_than_its_limit(gaps: list[float], limit: int) -> None:
    window, now, admitted = SlidingMinute(), 0.0, []
    for gap in gaps:
        now += gap
        wait = window.wait(1, limit, 10.0, now)
        if not wait:
            window.take(1, now)
            admitted.append(now)
        else:
            assert window.wait(1, limit, 10.0, now + wait + 1e-6) == 0, "the wait told is enough"
            break
    assert all(sum(other <= at < other + 10 for other in admitted) <= limit for at in admitted)
