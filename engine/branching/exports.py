"""What an export of a branch holds beside what its kind exports: which redraw of which conversation each unit is."""

from tidepool.engine.branching.origin import Origin
from tidepool.storage.states import unit_id
from tidepool.storage.transfer.tables import ExportTable
from tidepool.storage.views import ColumnType

COLUMNS: dict[str, ColumnType] = {
    "conversation_id": "integer",
    "origin_conversation": "integer",
    "arm": "text",
    "redraw": "integer",
}


def redraws(batch_number: int, origin: Origin) -> ExportTable:
    rows = ((unit_id(batch_number, one.number), one.conversation, one.arm, one.redraw) for one in origin.redraws())
    return ExportTable("redraws", COLUMNS, rows)
