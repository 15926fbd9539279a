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

One SQLite file holds everything, and these views are what scripts and other programs may depend on: their names and columns stay. The
tables beneath them are Tidepool's own and change. This page is made from the code
(`python -m tests.support.data_reference > docs/data.md`); a test fails when they differ.

The file is of version {CURRENT.version} (`PRAGMA user_version`). A later version of Tidepool upgrades a file when it opens it, after it has put a copy
beside it (such as `study.db.v1.bak`); a file of a newer version is refused, and so is one of a version before the first release.

A boolean is 0 or 1. A moment is a text such as `2026-01-31T08:15:30.250Z`, in UTC. JSON is a text that `json_extract` and
`json_each` read. Empty is SQL's NULL. `batch_id` joins every view with `batches.id`, `conversation_id` with `conversations.id`:

```sql
SELECT o.agent, avg(o.revealed) FROM outcomes o JOIN batches b ON b.id = o.batch_id WHERE b.name = 'pilot' GROUP BY o.agent;
```

CSV and Parquet exports have the columns of `messages` and, by kind, of `outcomes`, `genomes` and `answers`, or `training`; `results.json` has the rows
of the same views with their units. A batch that is a cell of a study has a column more for each factor, behind the others. A simulation has tables of its own ([docs/simulations.md](simulations.md#exports)).

A file from another person may hold more than any study writes. Tidepool refuses a text or a row of more than {LONGEST_TEXT >> 20} MiB. A report shows
the first {LONGEST_IN_REPORT:,} characters of each text and says how many follow. `results.json` has at most {MOST_WAVES:,} waves and, for each
{UNITS_A_PAGE} conversations, {MOST_CODES:,} codes; `waves_left_out` and `codes_left_out` count the rest. Statistics read the first {MOST_CODES:,} codes of a batch.
CSV and Parquet have all rows. A level of a factor has at most {LONGEST_LEVEL:,} characters.

CSV is UTF-8 without a mark at its beginning, as scripts expect. Excel takes such a file for Latin-1 and shows "Ã¼" for "ü": open it by
Data → From Text/CSV with encoding 65001, or export with `--format csv --bom`, which it opens rightly (Python then reads it as `utf-8-sig`).
"""


def reference() -> str:
    return "\n".join((INTRODUCTION, *(line for view in VIEWS.values() for line in reference_of(view))))


if __name__ == "__main__":
    print(reference(), end="")
