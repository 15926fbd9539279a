"""Between calls and the rows of the ledger: what is written of an answer or a loss, and what is read back."""

import sqlite3
from typing import Any

from tidepool.engine.call import Reply, prompt_hash
from tidepool.engine.core.pending import Pending
from tidepool.engine.errors import ReplayMismatch
from tidepool.engine.providers.protocol import Answer
from tidepool.storage.ledger import CallRecord
from tidepool.storage.states import CallStatus, Source

_ANSWERED = CallStatus.ANSWERED


def answered(
    pending: Pending,
    answer: Answer,
    text: str,
    seconds: float,
    attempts: int,
    source: Source,
    order_id: str | None,
    seal: bytes | None = None,
) -> CallRecord:
    call = pending.call
    # By position: this is the hottest line of a run without latency.
    return CallRecord(
        pending.unit_number,
        call.step,
        call.wave,
        call.turn,
        call.speaker,
        call.model,
        pending.key,
        call.system,
        prompt_hash(call.system),
        _ANSWERED,
        text,
        answer.truth,
        answer.input_tokens,
        answer.output_tokens,
        answer.cost_usd,
        seconds,
        source,
        attempts,
        None,
        order_id,
        answer.finish,
        answer.served_model,
        answer.thought,
        answer.reasoning_tokens,
        answer.usage_missing,
        seal,
    )


def lost(pending: Pending, error: str, attempts: int, order_id: str | None, reply: Answer | None) -> CallRecord:
    """A final failure; `reply` is what came and is no answer, and was paid for all the same."""
    call = pending.call
    figures: dict[str, Any] = {}
    if reply is not None:
        figures = {
            "text": reply.text,
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "cost_usd": reply.cost_usd,
            "finish_reason": reply.finish,
            "served_model": reply.served_model,
            "thought": reply.thought,
            "reasoning_tokens": reply.reasoning_tokens,
            "usage_missing": reply.usage_missing,
        }
    return CallRecord(
        sequence_number=pending.unit_number,
        step=call.step,
        wave=call.wave,
        turn=call.turn,
        speaker=call.speaker,
        model=call.model,
        key=pending.key,
        system=call.system,
        prompt=prompt_hash(call.system),
        status=CallStatus.FAILED,
        source=Source.BATCH if order_id else Source.LIVE,
        attempts=attempts,
        error=error,
        order_id=order_id,
        **figures,
    )


def reply_of(row: sqlite3.Row) -> Reply:
    return Reply(
        row["text"],
        row["input_tokens"],
        row["output_tokens"],
        row["cost_usd"],
        row["seconds"],
        row["source"],
        None,
        row["finish_reason"],
        row["served_model"],
    )


def mismatch(number: int, step: str) -> ReplayMismatch:
    return ReplayMismatch(
        f"Unit {number} now asks something else at {step!r} than what was bought there. The batch was made by another "
        "version of Tidepool or its file was changed; run it anew instead of resuming."
    )
