"""A batch's config as stored in its file, for code that only reads results.

Statistics need a few of its values. Loading and checking all of it takes longer than counting a small batch, and no
request or write depends on it. So only the plain values are read.
"""

import json
from functools import cached_property
from typing import Any

from tidepool.engine.errors import UsageError


def stored_sections(text: str) -> dict[str, Any]:
    """The sections by name. The file may be untrusted, so a value may be missing or have another type."""
    try:
        sections = json.loads(text)
    except (ValueError, RecursionError):
        sections = None
    if not isinstance(sections, dict):
        raise UsageError("The batch's stored config cannot be read. The file is damaged, or was changed.")
    return sections


class StoredConfig:
    """The config of a batch, which is read on first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def sections(self) -> dict[str, Any]:
        """The plain values by section and key, unchecked."""
        return stored_sections(self._text)
