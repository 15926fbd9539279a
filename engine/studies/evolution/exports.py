"""What an export of an evolution holds."""

from tidepool.storage.transfer.tables import ExportContents

CONTENTS = ExportContents(
    views=("messages", "genomes"), where_filled=("answers",), beside_units=("genomes",), details=None
)
