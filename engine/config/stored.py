"""A batch's config as its file keeps it, for those who only read results.

Statistics need a handful of its values. Loading and checking the whole takes longer than counting a small batch, and nothing is asked or
written because of what it says. So only the plain values are read.
"""

import json
from functools import cached_property
from typing import Any

from tidepool.engine.errors import UsageError


def stored_sections(text: str) -> dict[str, Any]:
    """The sections by name. The file may be a stranger's: a value may be missing, or of another type."""
    try:
        sections = json.loads(text)
    except (ValueError, RecursionError):
        sections = None
    if not isinstance(sections, dict):
        raise UsageError("The batch's own config cannot be read: its file was changed, or is damaged.")
    return sections


class StoredConfig:
    """The config of a batch, read when it is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def sections(self) -> dict[str, Any]:
        """The plain values by section and key, unchecked."""
        return stored_sections(self._text)
