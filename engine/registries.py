"""Names that a config can choose and that an installed package can extend: one table for each type of name.

Built-in names take precedence: a package adds names and never replaces one. A package's entry is loaded only when its name is used, by its
registered name (`[project.entry-points."tidepool.kinds"]`). So neither a study file nor a config can name a module or a path. Tables contain
places instead of objects, so listing names imports nothing, and checking a name causes no import cycle.
"""

import re
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
    """A mapping from names to objects: iterating gives names, and indexing loads the named object."""

    def __init__(self, noun: str, group: str, builtin: Mapping[str, str], type_name: str) -> None:
        """`builtin`: name → "module:attribute" of this package; `type_name`: the type of the objects, or "function"."""
        self.noun = noun
        self.group = group
        self.builtin = builtin
        self._type_name = type_name
        self.loaded: dict[str, T] = {}
        """the objects that were loaded so far"""

    def __getitem__(self, name: str) -> T:
        if name not in self.loaded:
            if name in self.builtin:
                self.loaded[name] = load_place(self.builtin[name])
            elif name in self.installed:
                self.loaded[name] = self._from_package(self.installed[name])
            else:
                raise KeyError(name)
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.installed

    def __len__(self) -> int:
        return len(self.builtin) + len(self.installed)

    def __contains__(self, name: object) -> bool:
        """Checks built-in names first, since reading the installed packages takes a while."""
        return isinstance(name, str) and (name in self.builtin or name in self.installed)

    @cached_property
    def installed(self) -> "Mapping[str, EntryPoint]":
        """The names that packages add."""
        from importlib.metadata import entry_points  # slow to import, like reading the installed packages

        entries = sorted(entry_points(group=self.group), key=lambda entry: entry.name)
        return {entry.name: entry for entry in entries if entry.name not in self.builtin}

    def named(self, name: str) -> T:
        """The object with this name. Raises an error for an unknown name."""
        if name not in self:
            raise UsageError(f"{self.noun}: {self.unknown(name)}")
        return self[name]

    def unknown(self, name: str, extra_names: Sequence[str] = ()) -> str:
        """The error message for an unknown name; `extra_names` are names with a meaning of their own."""
        known = [*self, *extra_names]
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{name!r} is unknown. Use one of {', '.join(filter(None, known))}.{hint}"

    def package_of(self, name: str) -> str | None:
        """The distribution that adds this name; None for built-in names."""
        if name in self.builtin or name not in self.installed:
            return None
        distribution = self.installed[name].dist
        return distribution.name if distribution else "a package"

    def _from_package(self, entry: "EntryPoint") -> T:
        """Loads an object of a package. Its code may fail in any way, so the error names the package."""
        subject = f"The {self.noun} {entry.name!r} of the package {self.package_of(entry.name)}"
        advice = "Update the package, or uninstall it."
        try:
            loaded: T = entry.load()
        except Exception as error:
            raise UsageError(f"{subject} cannot be loaded ({type(error).__name__}: {error}). {advice}") from error
        fits = callable(loaded) if self._type_name == "function" else type(loaded).__name__ == self._type_name
        if not fits:
            raise UsageError(f"{subject} is not a {self._type_name}, as {self.group} requires. {advice}")
        return loaded


_CUSTOM = re.compile(r"([\w-]{1,80}\.py):([A-Za-z_]\w{0,79})")


def is_custom(kind: object) -> bool:
    """Whether a kind is a class in a Python file of the user: `debate.py:Debate`."""
    return isinstance(kind, str) and _CUSTOM.fullmatch(kind) is not None


def custom_names(kind: str) -> tuple[str, str]:
    """The file and the class of such a kind."""
    file, _, name = kind.partition(":")
    return file, name


def section_of(kind: str) -> str:
    """The name of the kind's section in a config."""
    return custom_names(kind)[1].lower() if is_custom(kind) else kind


class KindRegistry(Registry[Any]):
    """The kinds of study, and the classes in Python files, which are not listed."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded and is_custom(name):
            self.loaded[name] = load_place("tidepool.engine.studies.custom_kind:custom_kind")(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return is_custom(name) or super().__contains__(name)


CUSTOM_MODULE = "tidepool_custom_"
"""how the modules of such files begin"""


def blame_code(error: BaseException) -> UsageError | None:
    """The error of code that is not Tidepool's, with its file and line: a package's, or a study's in a Python file. None: no such
    code is involved."""
    owners = {
        entry.module.partition(".")[0]: registry.package_of(name)
        for registry in (KINDS, PROVIDERS, DETECTORS, OPERATORS, SCORERS)
        for name, entry in registry.installed.items()
    }
    step, found = error.__traceback__, None
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if module in owners or module.startswith(CUSTOM_MODULE):
            owner = f" of the package {owners[module]}" if module in owners else ""
            found = f"{step.tb_frame.f_code.co_filename}, line {step.tb_lineno}{owner}"
        step = step.tb_next
    if found is None:
        return None
    words = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
    hint = " Is `await` missing?" if "coroutine" in words else ""
    return UsageError(f"The code failed in {found}: {words}{hint}")


def load_place(place: str) -> Any:
    """The object at "module" or "module:attribute" of this package. Nothing else here loads a module by a string."""
    module, _, attribute = place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


_STUDIES = "tidepool.engine.studies"

KINDS = KindRegistry(
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
"""built-in names of the simulated provider; any other name makes a new persona"""

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
"""functions (message, secret, threshold) → the position of the secret in the message, or None"""

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
"""functions (reply, expected, tokens) → Verdict, of the evolution"""


def program_version() -> str:
    """This version of Tidepool, which is stored with every batch, and compared with that of workers on other machines."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("tidepool-lab")
    except PackageNotFoundError:
        return "unknown"
