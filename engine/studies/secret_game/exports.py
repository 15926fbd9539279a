"""What an export of a secret game holds."""

from tidepool.storage.transfer.tables import ExportContents

CONTENTS = ExportContents(
    views=("messages", "outcomes"), where_filled=("verdicts",), of_units=("outcomes",), details=None
)
