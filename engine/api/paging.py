"""Pages of long lists: `limit` and `offset`, the total in a header, and the way to the next page in another."""

from typing import Annotated, Any

from fastapi import Query

BATCHES = 100
SIMULATIONS = 1000
ENTITIES = 1000
"""on a page unless `limit` says otherwise, which may be ten times as many"""

Offset = Annotated[int, Query(ge=0, le=2**32, description="how many to pass over")]

PAGE_HEADERS: dict[str, Any] = {
    "X-Total-Count": {"description": "how many there are, or will be", "schema": {"type": "integer"}},
    "Link": {"description": 'the next page, where there is one: rel="next"', "schema": {"type": "string"}},
}


def page_headers(path: str, more: str, limit: int, offset: int, total: int) -> dict[str, str]:
    """`more`: what else stands in the query."""
    counted = {"X-Total-Count": str(total)}
    if offset + limit >= total:
        return counted
    return {**counted, "Link": f'<{path}?{more}limit={limit}&offset={offset + limit}>; rel="next"'}
