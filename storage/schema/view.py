"""A view of the file as strangers know it: a query, and what each of its columns means.

Names and order of columns are a promise. A new column goes behind the ones of its view, unless the file's version is
raised for it as well; the meaning is written here, and `docs/data.md` is made from it.
"""

from dataclasses import dataclass
from typing import Literal

ColumnType = Literal["text", "integer", "real", "boolean", "JSON", "moment"]
"""JSON and moments are texts, a boolean is 0 or 1"""


@dataclass(frozen=True, slots=True)
class ViewColumn:
    name: str
    type: ColumnType
    meaning: str
    values: tuple[str, ...] = ()
    """all that the column may hold, where that is a closed list"""
    since: int = 1
    """version of the file that brought it"""


@dataclass(frozen=True, slots=True)
class View:
    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    query: str
    since: int = 1


def moment(column: str) -> str:
    """Seconds since 1970 as a text that sorts and that every tool reads."""
    return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, 'unixepoch')"


BATCH_ID = ViewColumn("batch_id", "text", "The batch.")
CONVERSATION_ID = ViewColumn("conversation_id", "integer", "The conversation: `conversations.id`.")
FINISH_REASONS = ("complete", "cut", "filtered", "refused", "tool", "empty", "error")
"""why a reply ended, in words that are the same for every provider"""
