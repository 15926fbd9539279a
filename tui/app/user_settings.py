"""What a person likes: a theme, and keys of their own, kept in one small TOML file that is never a part of a study."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from tidepool.storage.errors import TidepoolError
from tidepool.storage.folders import config_folder, refuse_what_others_wrote

LARGEST = 100_000
"""bytes"""


@dataclass(frozen=True, slots=True)
class UserSettings:
    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    """the name of an action, as `batches.open` → its keys, with commas between them"""
    faults: tuple[str, ...] = ()


def settings_file() -> Path:
    """Beside the user's own endpoints; it need not exist."""
    return config_folder() / "app.toml"


def read_settings(path: Path, themes: Collection[str], named_actions: Callable[[], Collection[str]]) -> UserSettings:
    """What is wrong in the file is told and left out; the rest holds. Actions are asked for where keys are set."""
    try:
        if not path.is_file():
            return UserSettings()
        refuse_what_others_wrote(path)
        if path.stat().st_size > LARGEST:
            return UserSettings(faults=(f"{path} is too large for settings and was not read.",))
        from tidepool.engine.config.toml_files import parse_toml

        data = parse_toml(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError, TidepoolError) as error:
        told = str(error) if str(path) in str(error) else f"{path}: {error}"
        return UserSettings(faults=(told,))
    faults = [
        f"{path}: {name!r} is no setting; write theme or [keys]." for name in data if name not in ("theme", "keys")
    ]
    theme = data.get("theme")
    if theme is not None and theme not in themes:
        faults.append(f"{path}: theme {theme!r} is none of {', '.join(themes)}.")
        theme = None
    given = data.get("keys", {})
    keys = given if isinstance(given, dict) else {}
    actions = named_actions() if keys else ()
    kept = {str(name): value for name, value in keys.items() if name in actions and isinstance(value, str) and value}
    faults += [_no_key(path, str(name), actions) for name in keys if name not in kept]
    return UserSettings(theme if isinstance(theme, str) else None, kept, tuple(faults))


def _no_key(path: Path, name: str, actions: Collection[str]) -> str:
    if name in actions:
        return f'{path}: write "{name}" = "KEY", or several with commas: "enter,l".'
    near = get_close_matches(name, actions, n=1)
    return f"{path}: {name!r} is no action." + (f" Did you mean {near[0]!r}?" if near else "")


def keep_theme(path: Path, name: str) -> None:
    """Writes the theme into the file, and leaves all else in it as it is."""
    import tomlkit

    path.parent.mkdir(parents=True, exist_ok=True)
    document = tomlkit.parse(path.read_text(encoding="utf-8-sig")) if path.is_file() else tomlkit.document()
    document["theme"] = name
    path.write_text(tomlkit.dumps(document), encoding="utf-8")


def describe_settings(path: Path, theme: str, actions: Mapping[str, str]) -> str:
    """How the file is written, with every action that can have keys of one's own."""
    names = "\n".join(f'"{name}" = "{keys}"' for name, keys in actions.items())
    return f'{path}\n\ntheme = "{theme}"\n\n[keys]\n{names}'
