"""Work that was under way when the app closed finds its widgets gone: that is no fault."""

from collections.abc import Iterator
from contextlib import contextmanager

from textual.app import App
from textual.css.query import NoMatches


@contextmanager
def while_open(app: App[None]) -> Iterator[None]:
    try:
        yield
    except NoMatches:
        if app.is_running:
            raise
