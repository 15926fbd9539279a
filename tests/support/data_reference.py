"""The reference of every view and column (docs/data.md): `python -m tests.support.data_reference > docs/data.md`."""

from tidepool.storage.codes import MOST_CODES
from tidepool.storage.file import LONGEST_TEXT
from tidepool.storage.queries.summary import MOST_WAVES
from tidepool.storage.schema import CURRENT
from tidepool.storage.studies import LONGEST_LEVEL
from tidepool.storage.text import LONGEST_IN_REPORT
from tidepool.storage.transfer.tables import UNITS_A_PAGE
from tidepool.storage.views import VIEWS, reference_of

INTRODUCTION = f"""# The file

You can query a study file with SQL. One SQLite file holds everything. Scripts and other programs can depend on these views, because their names and columns stay.

```sql
SELECT o.agent, avg(o.revealed) FROM outcomes o JOIN batches b ON b.id = o.batch_id WHERE b.name = 'pilot' GROUP BY o.agent;
```

| type | content |
| --- | --- |
| boolean | 0 or 1 |
| moment | a text such as `2026-01-31T08:15:30.250Z`, in UTC |
| JSON | a text for `json_extract` and `json_each` |

Empty values are SQL's NULL. `batch_id` joins every view with `batches.id`, and `conversation_id` with `conversations.id`. The number of a conversation in its batch is `conversation_id % 4294967296`. A design matches conversations of equal number in the same replicate. The tables below the views can change.

**Versions.** The file has version {CURRENT.version} (`PRAGMA user_version`). If you open it with a later version of Tidepool, the file is upgraded, and a copy of the old one stays beside it (such as `study.db.v1.bak`).
Files of a newer version are refused, and so are files from before the first release.

**Exports.** CSV and Parquet have the columns of `messages` and, by kind, of `outcomes`, `genomes` and `answers`, or `training`. `results.json` has the rows of the same views with their units.
In a study, each factor adds a column after the others. Simulations have [their own tables](simulations.md#exports).

**Limits.** A file from another person can hold more than any study writes. Tidepool refuses texts and rows of more than {LONGEST_TEXT >> 20} MiB. A report shows the first {LONGEST_IN_REPORT:,} characters of each text, and how many follow.
The file `results.json` has at most {MOST_WAVES:,} waves and, for each {UNITS_A_PAGE} conversations, {MOST_CODES:,} codes. `waves_left_out` and `codes_left_out` count the rest.
Statistics read the first {MOST_CODES:,} codes of a batch. CSV and Parquet have all rows. A level of a factor has at most {LONGEST_LEVEL:,} characters.

**Excel.** CSV is UTF-8 without a byte order mark, as scripts expect. Excel reads it as Latin-1 and shows "Ã¼" for "ü". Export with `--format csv --bom`, which Python reads as `utf-8-sig`.
Or open the file with Data → From Text/CSV and encoding 65001.

This page is generated (`python -m tests.support.data_reference > docs/data.md`), and a test compares it with the code.
"""


def reference() -> str:
    return "\n".join((INTRODUCTION, *(line for view in VIEWS.values() for line in reference_of(view))))


if __name__ == "__main__":
    print(reference(), end="")
