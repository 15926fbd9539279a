"""A call as the ledger keeps it."""

from typing import NamedTuple

from tidepool.storage.states import CallStatus, FinishReason, Source


class CallRecord(NamedTuple):
    sequence_number: int
    step: str
    wave: int
    turn: int | None
    speaker: str | None
    model: str
    key: bytes
    system: str
    prompt: bytes
    """hash of the system prompt"""
    status: CallStatus
    text: str = ""
    truth: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    source: Source = Source.LIVE
    attempts: int = 1
    error: str | None = None
    order_id: str | None = None
    finish_reason: FinishReason | None = None
    """None: no reply came"""
    served_model: str | None = None
    thought: str | None = None
    reasoning_tokens: int = 0
    usage_missing: bool = False
    seal: bytes | None = None
