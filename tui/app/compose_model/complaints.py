"""Which complaint stands beside which field."""

from collections.abc import Iterable, Sequence

from tidepool.tui.app.compose_model.examining import Complaint
from tidepool.tui.app.compose_model.fields import Path


def placed(complaints: Iterable[Complaint], fields: Iterable[Path]) -> tuple[dict[Path, str], list[Complaint]]:
    """Sentences by field, and the complaints that no field can show.

    A complaint about a place inside a field's value, or about a table that a field shows, is the field's own.
    """
    known = list(fields)
    beside: dict[Path, str] = {}
    rest = []
    for complaint in complaints:
        path = _field_of(complaint, known)
        if path is None:
            rest.append(complaint)
        else:
            beside[path] = f"{beside[path]} {complaint.sentence}" if path in beside else complaint.sentence
    return beside, rest


def _field_of(complaint: Complaint, known: Sequence[Path]) -> Path | None:
    where = complaint.where
    return next((where[:length] for length in range(len(where), 0, -1) if where[:length] in known), None)
