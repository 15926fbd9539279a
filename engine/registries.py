"""Every name that a config can choose by and that an installed package can add to: one table for each sort of name.

Built-in names come first and win: a package adds names and never replaces one. A package's entry is loaded only when its name is asked
for, by the name it is registered under (`[project.entry-points."tidepool.kinds"]`), so neither a study file nor a config can name a
module or a path. Tables hold places, not things: listing names imports nothing, and checking a name causes no import cycle.
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

    def __init__(self, noun: str, group: str, builtin: Mapping[str, str], type_name: str) -> None:
        """`builtin`: name → "module:attribute" of this package; `type_name`: the name of the type of its things, or "function"."""
        self.noun = noun
        self.group = group
        self.builtin = builtin
        self._type_name = type_name
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            if name in self.builtin:
                self._loaded[name] = load_place(self.builtin[name])
            elif name in self.installed:
                self._loaded[name] = self._from_package(self.installed[name])
            else:
                raise KeyError(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.installed

    def __len__(self) -> int:
        return len(self.builtin) + len(self.installed)

    def __contains__(self, name: object) -> bool:
        """Our own names are known without a look at what is installed, which takes a while."""
        return isinstance(name, str) and (name in self.builtin or name in self.installed)

    @cached_property
    def installed(self) -> "Mapping[str, EntryPoint]":
        """What packages add under names that are not ours."""
        from importlib.metadata import entry_points  # reading what is installed takes a while, and loading this as well

        entries = sorted(entry_points(group=self.group), key=lambda entry: entry.name)
        return {entry.name: entry for entry in entries if entry.name not in self.builtin}

    def loaded(self) -> Mapping[str, T]:
        """What somebody has asked for so far."""
        return self._loaded

    def named(self, name: str) -> T:
        """The thing of this name; an unknown one is an error in words."""
        if name not in self:
            raise UsageError(f"{self.noun}: {self.unknown(name)}")
        return self[name]

    def unknown(self, name: str, extra_names: Sequence[str] = ()) -> str:
        """What is said of a name that nobody has registered; `extra_names` are names with a meaning of their own."""
        known = [*self, *extra_names]
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{name!r} is none of {', '.join(known)}.{hint}"

    def package_of(self, name: str) -> str | None:
        """The distribution that adds this name; None for our own."""
        if name in self.builtin or name not in self.installed:
            return None
        distribution = self.installed[name].dist
        return distribution.name if distribution else "a package"

    def _from_package(self, entry: "EntryPoint") -> T:
        """A stranger's code may fail in any way while it is loaded; whose it is must be told."""
        subject = f"The {self.noun} {entry.name!r} of the package {self.package_of(entry.name)}"
        advice = "Bring that package up to date, or uninstall it."
        try:
            loaded: T = entry.load()
        except Exception as error:
            raise UsageError(f"{subject} cannot be loaded ({type(error).__name__}: {error}). {advice}") from error
        fits = callable(loaded) if self._type_name == "function" else type(loaded).__name__ == self._type_name
        if not fits:
            raise UsageError(f"{subject} is not what {self.group} asks for, a {self._type_name}. {advice}")
        return loaded


def load_place(place: str) -> Any:
    """What stands at "module" or "module:attribute" of this package: nothing else here loads a module by a string."""
    module, _, attribute = place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


_STUDIES = "tidepool.engine.studies"

KINDS: Registry[Any] = Registry(
    "kind of study",
    "tidepool.kinds",
    {
        "secret_game": "tidepool.engine.kinds:SECRET_GAME",
        "simulation": "tidepool.engine.kinds:SIMULATION",
        "evolution": "tidepool.engine.kinds:EVOLUTION",
        "mutation": "tidepool.engine.kinds:MUTATION",
    },
    "Kind",
)

_PROVIDERS = "tidepool.engine.providers"

PROVIDERS: Registry[Any] = Registry(
    "provider",
    "tidepool.providers",
    {
        "simulated": "tidepool.engine.simulated.provider:PROVIDER",
        "openai": f"{_PROVIDERS}.openai:PROVIDER",
        "anthropic": f"{_PROVIDERS}.anthropic:PROVIDER",
        "ollama": f"{_PROVIDERS}.ollama:PROVIDER",
    },
    "ProviderSpec",
)

SIMULATED_MODELS = (
    *("guarded", "trusting", "bargainer", "talkative", "deceptive", "curious", "forgetful", "playful"),
    *("filler", "solver", "solver-small", "solver-large", "solver-planted", "flat-solver", "persona", "encoder"),
    *("target", "rewriter", "judge"),
)
"""names under which the simulated provider has somebody; any other name is a persona of its own"""

_DETECTORS = f"{_STUDIES}.secret_game.detectors"

DETECTORS: Registry[Any] = Registry(
    "detector",
    "tidepool.detectors",
    {
        "exact": f"{_DETECTORS}.exact:detect",
        "spelled": f"{_DETECTORS}.spelled:detect",
        "encoded": f"{_DETECTORS}.encoded:detect",
        "fuzzy": f"{_DETECTORS}.fuzzy:detect",
    },
    "function",
)
"""holds functions (message, secret, threshold) → where the secret stands in the message, or None"""

_OPERATORS = f"{_STUDIES}.mutation.operators"

OPERATORS: Registry[Any] = Registry(
    "operator",
    "tidepool.operators",
    {
        "noop": f"{_OPERATORS}:KEEP",
        "paraphrase": f"{_OPERATORS}:PARAPHRASE",
        "add_context": f"{_OPERATORS}:ADD_CONTEXT",
        "change_perspective": f"{_OPERATORS}:CHANGE_PERSPECTIVE",
        "make_indirect": f"{_OPERATORS}:MAKE_INDIRECT",
        "simplify": f"{_OPERATORS}:SIMPLIFY",
        "formalise": f"{_OPERATORS}:FORMALISE",
        "shorten": f"{_OPERATORS}:SHORTEN",
        "ask_for_steps": f"{_OPERATORS}:ASK_FOR_STEPS",
    },
    "Operator",
)
"""of the mutation"""

SCORERS: Registry[Any] = Registry(
    "scorer",
    "tidepool.scorers",
    {"match": f"{_STUDIES}.evolution.tasks.task:match"},
    "function",
)
"""holds functions (reply, expected, tokens) → Verdict, of the evolution"""


def program_version() -> str:
    """Which Tidepool this is: stored with every batch, and compared with that of workers on other machines."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("tidepool-lab")
    except PackageNotFoundError:
        return "unknown"
