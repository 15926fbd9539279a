"""Batches in the command palette: by a few letters of their name or id, from any screen."""

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import Hit, Hits, Provider
from textual.content import Content

from tidepool.storage.reading.watching import all_watched
from tidepool.tui.app.widgets.batch_list import status_of
from tidepool.tui.drawing.plain import one_line

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp


class BatchFinder(Provider):
    @property
    def tidepool(self) -> "TidepoolApp":
        return cast("TidepoolApp", self.app)

    async def startup(self) -> None:
        self._batches = await self.tidepool.file.look(all_watched, self.tidepool.path)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for batch in self._batches:
            words = f"{one_line(batch.name)} {batch.id}"
            score, places = matcher.fuzzy_search.match(query, words)
            if score:
                shown = Content(words)  # a name is no markup
                for place in places:
                    shown = shown.stylize(matcher.match_style, place, place + 1)
                about = f"{batch.kind.replace('_', ' ')}, {status_of(batch)}"
                yield Hit(score, shown, partial(self.tidepool.open_batch, batch), text=words, help=about)
