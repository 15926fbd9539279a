"""All hostile cases, in the order in which they are shown."""

from tests.hostile import batch_cases, live_cases, server_cases
from tests.hostile.case import Case

CASES: tuple[Case, ...] = (*live_cases.cases(), *server_cases.cases(), *batch_cases.cases())
TITLES = {case.title: case for case in CASES}
