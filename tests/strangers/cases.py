"""All strangers' files, by family."""

from tests.strangers import byte_cases, row_cases, schema_cases, trust_cases
from tests.strangers.case import Case

CASES: tuple[Case, ...] = (
    *schema_cases.cases(),
    *row_cases.cases(),
    *trust_cases.cases(),
    *byte_cases.cases(),
)
