"""Which complaint stands beside which field."""

import re
from collections.abc import Iterable, Sequence

from tidepool.tui.app.compose_model.examining import Complaint
from tidepool.tui.app.compose_model.fields import Path


def placed(complaints: Iterable[Complaint], fields: Iterable[Path]) -> tuple[dict[Path, str], list[Complaint]]:
    """Sentences by field, and the complaints that no field can show.

    A complaint about a place inside a field's value, or about a table that a field shows, is the field's own; one about a
    whole section goes to the key that it names last.
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
    if not where:
        return _named(complaint.sentence, known)
    for length in range(len(where), 0, -1):
        if where[:length] in known:
            return where[:length]
    return _named(complaint.sentence, [path for path in known if path[: len(where)] == where])


def _named(sentence: str, known: Sequence[Path]) -> Path | None:
    """The field whose key the sentence names last; a key of one common word counts only with its section before it."""
    found: tuple[int, Path] | None = None
    for path in known:
        key = str(path[-1])
        words = re.escape(key) if "_" in key else rf"{re.escape('.'.join(map(str, path[-2:])))}"
        for match in re.finditer(rf"(?<![\w.]){words}(?!\w)|(?<=\.){words}(?!\w)", sentence):
            if found is None or match.start() >= found[0]:
                found = (match.start(), path)
    return found[1] if found else None
