"""What an export of an evolution holds."""

from tidepool.storage.exporting.contents import ExportContents

CONTENTS = ExportContents(views=("messages", "genomes"), beside_units=("genomes",), details=None)
