"""What the command palette finds from any screen, by a few letters: batches, people of the library, themes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tidepool.storage.queries.watching import Watched, all_watched
from tidepool.tui.app.library_items import read_library
from tidepool.tui.app.widgets.batch_list import status_of
from tidepool.tui.drawing.text import one_line

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp


@dataclass(frozen=True, slots=True)
class Found:
    words: str
    about: str
    go: Callable[[], Any]


class Finder(Provider):
    """Things with names: what is typed is looked for in them as letters in this order."""

    @property
    def tidepool(self) -> "TidepoolApp":
        return cast("TidepoolApp", self.app)

    async def startup(self) -> None:
        self._things = list(await self.things())

    async def things(self) -> Iterable[Found]:
        return ()

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for found in self._things:
            score, places = matcher.fuzzy_search.match(query, found.words)
            if score:
                shown = Content(found.words)  # a name is no markup
                for place in places:
                    shown = shown.stylize(matcher.match_style, place, place + 1)
                yield Hit(score, shown, found.go, text=found.words, help=found.about)


class BatchFinder(Finder):
    async def things(self) -> Iterable[Found]:
        return map(self._found, await self.tidepool.file.look(all_watched, self.tidepool.path))

    def _found(self, batch: Watched) -> Found:
        about = f"{batch.kind.replace('_', ' ')}, {status_of(batch)}"
        return Found(f"{one_line(batch.name)} {batch.id}", about, partial(self.tidepool.open_batch, batch))


class PersonFinder(Finder):
    async def things(self) -> Iterable[Found]:
        shelves = await self.tidepool.file.look(read_library)
        return [
            Found(
                one_line(item.name, 80),
                f"{word} of the library: {one_line(item.cells[2], 60)}",
                partial(self.tidepool.show_person, shelf, item.id),
            )
            for shelf, word in (("entities", "entity"), ("agents", "agent"))
            for item in shelves.shelf(shelf)
        ]


class SettingFinder(Finder):
    """Themes, and the file of one's own settings."""

    async def things(self) -> Iterable[Found]:
        return list(self._settings())

    def _settings(self) -> Iterator[Found]:
        for name in self.tidepool.themes_offered:
            yield Found(f"Theme {name}", "is kept for the next time", partial(self.tidepool.choose_theme, name))
        yield Found("Settings: themes and keys", "where they are kept, and how", self.tidepool.tell_settings)

    async def discover(self) -> Hits:
        yield DiscoveryHit(
            "Settings: themes and keys", self.tidepool.tell_settings, help="where they are kept, and how"
        )


FINDERS: tuple[type[Provider], ...] = (BatchFinder, PersonFinder, SettingFinder)
