"""Limits that may change while a batch runs: the only settings that a `control` row of a study file can name.

Checked where they are written (`tidepool limits`, the app) and again where the running batch obeys them, since the row has
been in a file meanwhile.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tidepool.engine.config.endpoints import is_endpoint_name
from tidepool.engine.config.sections import Limits
from tidepool.engine.errors import UsageError

CHANGEABLE = (
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "retries",
    "timeout",
    "poll_interval",
    "rescue_after",
    "budget_usd",
    "batch_size",
)


def limit_change(key: str, value: Any) -> tuple[str, str | None, Any]:
    """The limit, the provider that it is for (None: all), and its checked value. Raises UsageError."""
    *where, name = key.removeprefix("service.").split(".")
    of_one = len(where) == 2 and where[0] == "providers" and is_endpoint_name(where[1])
    if name not in CHANGEABLE or (where and not of_one):
        raise UsageError(
            f"{key[:200]!r} is not a limit that can change while running: use one of {', '.join(CHANGEABLE)}, "
            "or providers.NAME.LIMIT."
        )
    try:
        checked = Limits.model_validate({name: value})
    except ValidationError as error:
        raise UsageError(f"{key} = {str(value)[:200]}: {error.errors()[0]['msg']}.") from None
    return name, where[1] if where else None, getattr(checked, name)


def as_overrides(changes: Mapping[str, Any]) -> list[str]:
    """The same as `--set` has them."""
    return [
        f"{key if key.startswith(('service.', 'providers.')) else f'service.{key}'}={value!r}"
        for key, value in changes.items()
    ]
