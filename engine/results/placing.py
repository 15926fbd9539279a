"""One mark for each of those who take part in a batch, whoever of them a block happens to tell of.

A kind's own blocks number the names that its rows have: somebody who has met nobody, or nobody yet, would shift all who come
behind. Here everybody's place is that among all whom the config names.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidepool.engine.results.blocks import Block, Cell, Figure, Heat, Named, Series, Table
from tidepool.engine.results.marks import places_of


def placed(blocks: Iterable[Block], names: Iterable[str]) -> tuple[Block, ...]:
    places = places_of(names)
    return tuple(_placed(block, places) for block in blocks) if places else tuple(blocks)


def _placed(block: Block, places: Mapping[str, int]) -> Block:
    match block:
        case Table():
            return replace(block, rows=tuple(tuple(_cell(cell, places) for cell in row) for row in block.rows))
        case Heat() if block.places:
            return replace(block, places=_all(block.rows, block.places, places))
        case Figure():
            series = tuple(_series(one, places) for one in block.series)
            return replace(block, series=series, places=_all(block.labels, block.places, places))
    return block


def _cell(cell: Cell, places: Mapping[str, int]) -> Cell:
    return replace(cell, place=places.get(cell.name, cell.place)) if isinstance(cell, Named) else cell


def _series(one: Series, places: Mapping[str, int]) -> Series:
    return one if one.place is None else replace(one, place=places.get(one.name, one.place))


def _all(names: tuple[str, ...], before: tuple[int, ...], places: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(places.get(name, place) for name, place in zip(names, before, strict=False))
