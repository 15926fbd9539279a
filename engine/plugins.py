"""Tables of things that a config may name, open to packages that the user has installed.

Our own names come first and win: a package adds names, it never replaces one. A package's entry is loaded only when its
own name is asked for, by the name it was registered under (`[project.entry-points."tidepool.kinds"]`), so neither a study
file nor a config can name a module or a path. Listing names reads the packages' metadata and imports nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidepool.engine.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Name → thing: iterating gives names, indexing loads the one thing that is named."""

    def __init__(self, noun: str, group: str, own: Mapping[str, str], holds: str) -> None:
        """`own`: name → "module:attribute" of this package; `holds`: the name of the type of its things, or "function"."""
        self.noun = noun
        self.group = group
        self.own = own
        self._holds = holds
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            if name in self.own:
                self._loaded[name] = load_place(self.own[name])
            elif name in self.installed:
                self._loaded[name] = self._from_package(self.installed[name])
            else:
                raise KeyError(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.installed

    def __len__(self) -> int:
        return len(self.own) + len(self.installed)

    def __contains__(self, name: object) -> bool:
        """Our own names are known without a look at what is installed, which takes a while."""
        return isinstance(name, str) and (name in self.own or name in self.installed)

    @cached_property
    def installed(self) -> "Mapping[str, EntryPoint]":
        """What packages add under names that are not ours."""
        from importlib.metadata import entry_points  # reading what is installed takes a while, and loading this as well

        found = sorted(entry_points(group=self.group), key=lambda entry: entry.name)
        return {entry.name: entry for entry in found if entry.name not in self.own}

    def loaded(self) -> Mapping[str, T]:
        """What somebody has asked for so far."""
        return self._loaded

    def named(self, name: str) -> T:
        """The thing of this name; an unknown one is an error in words."""
        if name not in self:
            raise UsageError(f"{self.noun}: {self.unknown(name)}")
        return self[name]

    def unknown(self, name: str, beside: Sequence[str] = ()) -> str:
        """What is said of a name that nobody has registered; `beside` are names with a meaning of their own."""
        known = [*self, *beside]
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{name!r} is none of {', '.join(known)}.{hint}"

    def package_of(self, name: str) -> str | None:
        """The distribution that adds this name; None for our own."""
        if name in self.own or name not in self.installed:
            return None
        distribution = self.installed[name].dist
        return distribution.name if distribution else "a package"

    def _from_package(self, entry: "EntryPoint") -> T:
        """A stranger's code may fail in any way while it is loaded; whose it is must be told."""
        whose = f"The {self.noun} {entry.name!r} of the package {self.package_of(entry.name)}"
        advice = "Bring that package up to date, or uninstall it."
        try:
            loaded: T = entry.load()
        except Exception as error:
            raise UsageError(f"{whose} cannot be loaded ({type(error).__name__}: {error}). {advice}") from error
        fits = callable(loaded) if self._holds == "function" else type(loaded).__name__ == self._holds
        if not fits:
            raise UsageError(f"{whose} is not what {self.group} asks for, a {self._holds}. {advice}")
        return loaded


def load_place(place: str) -> Any:
    """What stands at "module" or "module:attribute" of this package: nothing else here loads a module by a string."""
    module, _, attribute = place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
