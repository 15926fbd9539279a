"""A key whose value is a name of a registry: what is built in, or what an installed package adds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from tidepool.engine.plugins import Registry


@dataclass(frozen=True, slots=True)
class OneOf:
    """Written beside a type: `Annotated[str, OneOf(KINDS)]`. Forms and the reference read the choices from it."""

    registry: Registry[Any]
    beside: tuple[str, ...] = ()
    """names that mean something else than an entry of the registry"""
    like: str = ""
    """a pattern of names that are no entries either, and typed by hand"""

    def options(self) -> Iterator[str]:
        yield from self.registry
        yield from self.beside

    def own_options(self) -> Iterator[str]:
        """Those that need no other package."""
        yield from self.registry.own
        yield from self.beside

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, name: str) -> str:
        if self.like and re.fullmatch(self.like, name):
            return name
        if name not in self.beside and name not in self.registry:
            raise ValueError(self.registry.unknown(name, self.beside))
        return name
