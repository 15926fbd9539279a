"""`tidepool new KIND`, `tidepool examples` and `tidepool completion`. All configs run offline without a key."""

import argparse
import re
import shutil
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill

from tidepool.engine.errors import UsageError
from tidepool.engine.registries import KINDS
from tidepool.storage.errors import FileError
from tidepool.tui.command.output import echo, echo_json, reply
from tidepool.tui.drawing.configs import about, examples


def refuse_existing(path: Path) -> None:
    """Raises if the file exists, since it may contain work of the user."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} already exists. Choose another path with -o.")


_NAMED = re.compile(r'"([\w.-]+\.(?:csv|json|jsonl|py|txt))(?::\w+)?"')
"""a file name in a config"""


def copied(example: Path, target: Path | None) -> list[Path]:
    """Copies an example and the files that it names to the same folder. Returns their paths, the config first."""
    target = target or Path(example.name)
    if target.is_dir():
        target = target / example.name
    names = dict.fromkeys(_NAMED.findall(example.read_text(encoding="utf-8")))
    other_files = [example.parent / name for name in names if (example.parent / name).is_file()]
    places = {example: target, **{file: target.parent / file.name for file in other_files}}
    for place in places.values():
        refuse_existing(place)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for source, place in places.items():
            shutil.copyfile(source, place)
    except OSError as error:
        raise FileError(f"Cannot write {target}: {error.strerror or error}. Choose another path with -o.") from error
    return list(places.values())


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    if name == "examples":
        parser.add_argument("example", nargs="?", metavar="NAME", help="copy this example and the files it needs")
        where = "the file or folder to write (./NAME.toml)"
    else:
        kinds = "secret_game, simulation, evolution, mutation, or a kind of an installed package"
        parser.add_argument("kind", nargs="?", metavar="KIND", help=kinds)
        where = "the file to write (./KIND.toml), or - for stdout"
    parser.add_argument("-o", "--output", metavar="PATH", type=Path, help=where)


def run(options: argparse.Namespace) -> int:
    return _example(options) if options.command == "examples" else _new(options)


def _example(options: argparse.Namespace) -> int:
    known = {**examples(), **examples("debate.py")}
    if options.example is None:
        if options.output is not None:
            raise UsageError("Give the name of an example. `tidepool examples` lists them.")
        return _listed(known, as_json=options.json)
    name = Path(options.example).stem
    if name not in known:
        suggestions = get_close_matches(name, known, n=1)
        hint = f"did you mean {suggestions[0]!r}?" if suggestions else "`tidepool examples` lists them."
        raise UsageError(f"There is no example {name!r}: {hint}")
    files = [str(path) for path in copied(known[name], options.output)]
    more = ' --set motion="Tea is better than coffee."' if name == "debate" else ""
    return reply(options, {"files": files}, "\n".join([*files, f"\nNext: tidepool run {files[0]}{more}"]))


def _listed(known: dict[str, Path], *, as_json: bool) -> int:
    if as_json:
        echo_json([{"name": name, "about": about(path)} for name, path in known.items()])
        return 0
    indent = max(map(len, known)) + 2
    columns = shutil.get_terminal_size().columns
    for name, path in known.items():
        echo(fill(about(path), columns, initial_indent=f"{name:<{indent}}", subsequent_indent=" " * indent))
    echo(
        "\nCopy an example with `tidepool examples NAME`, then run it with `tidepool run NAME.toml`. `debate` is a Python file."
    )
    return 0


def starting_config(kind: str) -> str:
    """Returns a commented config. For the kind of an installed package, it contains the defaults."""
    from tidepool.tui.app.kind_screens import template

    path = Path(__file__).parent.parent / "new" / f"{kind}.toml"
    return path.read_text(encoding="utf-8") if path.is_file() else template(kind)


def _new(options: argparse.Namespace) -> int:
    from tidepool.storage.transfer.formats import write_text

    if options.kind is None:
        raise UsageError(f"Give a kind of study ({', '.join(KINDS)}), for example `tidepool new secret_game`.")
    if options.kind not in KINDS:
        suggestions = get_close_matches(options.kind, list(KINDS), n=1)
        hint = f"Did you mean {suggestions[0]!r}?" if suggestions else ""
        raise UsageError(f"Unknown kind {options.kind!r}. Kinds are {', '.join(KINDS)}. {hint}".rstrip())
    text = starting_config(options.kind)
    if str(options.output) == "-":
        echo(text.rstrip())
        return 0
    target = options.output or Path(f"{options.kind}.toml")
    if target.is_dir():
        target = target / f"{options.kind}.toml"
    refuse_existing(target)
    write_text(target, text)
    return reply(options, {"files": [str(target)]}, f"{target}\n\nNext: tidepool run {target}")


SHELLS = ("bash", "zsh", "tcsh")
FILES = ("FILE", "CONFIG", "CONFIG.toml", "PATH", "CSV", "FOLDER")
"""metavars of arguments that are file names"""


def add_completion_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help='for bash: eval "$(tidepool completion bash)" in ~/.bashrc')


def run_completion(options: argparse.Namespace) -> int:
    import shtab

    from tidepool.tui.command.main import whole_parser

    parser = whole_parser()
    _name_files(parser, shtab.FILE)
    echo(shtab.complete(parser, options.shell).rstrip())
    return 0


def _name_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Marks every argument that takes a file name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _name_files(inner, files)
        elif action.metavar in FILES or action.dest == "output":
            action.complete = files  # type: ignore[attr-defined]
