"""A batch as its provider shows it, with one thing odd: states nobody knows, counts that are no counts, files that are not there."""

from collections.abc import Callable
from typing import Any

Card = dict[str, Any]
Spoil = Callable[[Card], Any]


def _has(**more: Any) -> Spoil:
    return lambda card: {**card, **more}


def _without(*names: str) -> Spoil:
    return lambda card: {name: value for name, value in card.items() if name not in names}


def _once_ended(change: Spoil) -> Spoil:
    """Only where the batch has come to its end."""
    return lambda card: change(card) if card.get("completed_at") or card.get("ended_at") else card


_COUNTS: dict[str, Any] = {
    "counts-text": {"total": "many", "completed": "some", "failed": "", "processing": "x", "succeeded": "y"},
    "counts-negative": {"total": -1, "completed": -5, "failed": 1e300, "processing": -1, "succeeded": -2},
    "counts-null": None,
    "counts-list": [1, 2, 3],
}
_EITHER: dict[str, Spoil] = {
    **{name: _has(request_counts=counts) for name, counts in _COUNTS.items()},
    "counts-missing": _without("request_counts"),
    "times-odd": _has(created_at="yesterday", expires_at=-1, in_progress_at={}),
    "a-list": lambda card: [card],
    "null": lambda card: None,
    "id-missing": _without("id"),
    "id-null": _has(id=None),
    "id-number": _has(id=7),
}

CARDS: dict[str, dict[str, Spoil]] = {
    "openai": {
        **_EITHER,
        "status-missing": _without("status"),
        "status-unknown": _has(status="paused_for_review"),
        "status-stuck": _has(status="paused_for_review", output_file_id=None, error_file_id=None),
        "status-null": _has(status=None),
        "status-number": _has(status=7),
        "status-capitals": lambda card: {**card, "status": card["status"].upper()},
        "expired-empty": _once_ended(_has(status="expired", output_file_id=None, error_file_id=None)),
        "completed-empty": _once_ended(_has(output_file_id=None, error_file_id=None)),
        "file-empty": _once_ended(_has(output_file_id="", error_file_id="")),
        "file-gone": _once_ended(_has(output_file_id="file-nobody-has")),
        "failed-silent": _once_ended(_has(status="failed", errors=None, output_file_id=None)),
        "failed-text": _once_ended(_has(status="failed", errors="no capacity", output_file_id=None)),
        "errors-odd": _has(errors={"data": [None, 7, {"message": None}]}),
    },
    "anthropic": {
        **_EITHER,
        "status-missing": _without("processing_status"),
        "status-unknown": _has(processing_status="paused_for_review"),
        "status-null": _has(processing_status=None),
        "no-results": _once_ended(_has(results_url=None)),
        "results-elsewhere": _once_ended(_has(results_url="http://localhost:9/elsewhere/results")),
    },
}
