"""The command `tidepool`. Only argparse is loaded here; each command loads what it needs when it runs."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn

from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.storage.text import plain, watch
from tidepool.tui.command.output import echo, echo_err

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


@dataclass(frozen=True, slots=True)
class Command:
    group: str
    place: str
    """MODULE in tidepool.tui.command.commands with its `run`, or MODULE:NAME with its `run_NAME`"""
    summary: str
    examples: tuple[str, ...]
    """arguments"""


COMMANDS = {
    "new": Command(
        "start", "start", "Write a commented config for one kind of study", ("secret_game", "evolution -o study.toml")
    ),
    "examples": Command("start", "start", "List the examples, or copy one", ("", "design -o study.toml")),
    "plan": Command(
        "start",
        "plan:plan",
        "Show requests, cost, time and precision of a study before you run it",
        ("study.toml", "study.toml --pilot last --detect 0.2"),
    ),
    "run": Command("run", "run", "Run a study", ("study.toml", "study.toml --set service.budget_usd=5")),
    "resume": Command(
        "run", "run", "Continue a batch that stopped, without buying anything twice", ("last", "last --quiet")
    ),
    "stop": Command(
        "run",
        "manage:steer",
        "Stop a running batch, so that you can resume it later",
        ("last", "last --on-stop cancel"),
    ),
    "pause": Command("run", "manage:steer", "Pause a running batch", ("last", "3f2a")),
    "continue": Command("run", "manage:steer", "Continue a paused batch", ("last", "3f2a")),
    "limits": Command(
        "run",
        "manage:steer",
        "Change limits of a running batch",
        ("last max_concurrent=20", "last requests_per_minute=500 budget_usd=10"),
    ),
    "orders": Command("run", "manage:orders", "List the provider batches of a batch", ("last", "last --all")),
    "list": Command("inspect", "list_batches", "List the batches of the file", ("", "--cells")),
    "show": Command(
        "inspect",
        "read",
        "Show the results of a batch, a conversation, a prompt or a family tree",
        ("last", "last --conversation 5"),
    ),
    "log": Command("inspect", "read", "Show the log of a batch", ("last", "last --json")),
    "stats": Command("analyse", "read", "Show all statistics of a batch, or one section", ("last", "last agents")),
    "compare": Command(
        "analyse", "read:compare", "Compare the statistics of several batches", ("last last~1", "3f2a 91bc")
    ),
    "code": Command("analyse", "code", "Code a blinded sample of conversations by hand", ("last", "last --status")),
    "branch": Command(
        "analyse",
        "run:branch",
        "Replay conversations from one message, resampled or reworded",
        ('last --conversation 3 --at t4 --say "No."', "last --all --at t2"),
    ),
    "export": Command(
        "share",
        "files:export",
        "Export a batch as HTML, CSV, JSON, Parquet and more",
        ("last --format html -o report.html", "last --format csv"),
    ),
    "publish": Command(
        "share",
        "files:publish",
        "Write a study as a folder for publication",
        ("last -o published", "last -o published --license CC-BY-4.0"),
    ),
    "import": Command(
        "share", "files:import", "Import batches, entities and agents of another file", ("other.db", "other.db --json")
    ),
    "entities": Command(
        "set up",
        "library:entities",
        "Manage the entities of the library",
        ("list", "generate --type human -n 100 --seed 1"),
    ),
    "agents": Command("set up", "library:agents", "Manage the agents of the library", ("list", "add agents.csv")),
    "models": Command(
        "set up", "models", "List models, prices and keys of the providers", ("", "ollama --pull llama3.2")
    ),
    "trust": Command(
        "set up", "manage:trust", "Manage which batches from other machines may run here", ("list", "add last")
    ),
    "delete": Command("set up", "manage:delete", "Delete a batch", ("last", "last --yes")),
    "web": Command("set up", "serve:web", "Open the app in a browser", ("", "--port 8000")),
    "api": Command("set up", "serve:api", "Serve the HTTP API", ("", "--port 8765")),
    "bench": Command("set up", "plan:bench", "Measure the speed of this machine, or of one study", ("", "study.toml")),
    "completion": Command("set up", "start:completion", "Print a shell completion script", ("bash", "zsh")),
}

EPILOG = """BATCH is an id, the unique beginning of one, `last`, or `last~1` for the one before.
`tidepool COMMAND --help` shows the options of a command and examples.
Exit codes: 0 completed, 1 failed, 2 wrong usage or config, 3 partial,
4 stopped by its budget, 130/143 interrupted. You can resume after 3, 4, 130 and 143."""


PIPE_CLOSED = 141
"""exit code of a program whose reader closed the pipe (SIGPIPE)"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    # Our matrices are small: starting the threads of numpy's library costs more time than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):  # in encodings other than UTF-8, print question marks instead of failing
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    watch()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if debug:
            from traceback import format_exc

            echo_err(format_exc())
            return error.exit_code if isinstance(error, TidepoolError) else 1
        from tidepool.engine.registries import blame_code

        explained_error = error if isinstance(error, TidepoolError) else blame_code(error) or _blamed(arguments, error)
        if explained_error is None:
            echo_err(
                f"tidepool: unexpected error ({type(error).__name__}: {error}). "
                "Run the command again with --debug for the traceback, and please report it."
            )
            return 1
        echo_err(f"tidepool: {explained_error}")
        return explained_error.exit_code


def _blamed(arguments: list[str], error: Exception) -> "TidepoolError | None":
    """Returns an error that describes the invalid contents of an untrusted file, or None."""
    from tidepool.storage.queries.damage import blame

    options, _ = _parser(arguments)[0].parse_known_args(arguments)
    return blame(Path(getattr(options, "file", None) or options.db), error)


def _dispatch(arguments: list[str]) -> int:
    from tidepool.storage.file import sweep

    if arguments[1:] and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        require_study_file(arguments[0])
    parser, command = _parser(arguments)
    options = parser.parse_args(arguments)
    if command is None and options.file:
        options.db = _app_file(parser, options)
    options.db = Path(options.db)
    sweep()  # removes leftovers of killed commands
    if command is not None:
        run_command, _ = _functions_of(command)
        return int(run_command(options))
    if options.trust and not options.resume and "#" not in (options.run or ""):
        parser.error("--trust works only with --resume or FILE.db#BATCH. A config file that you run is trusted.")
    if options.run or options.resume:
        from tidepool.tui.command.commands import run

        return run.run(options)
    for name in ("dry_run", "set", "json", "full", "quiet"):
        if getattr(options, name):
            parser.error(f"--{name.replace('_', '-')} works only with a command, --run or --resume")
    _refuse_without_terminal()
    from tidepool.tui.app.app import open_app

    return open_app(options.db)


def _app_file(parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    """Returns the study file given in place of a command: `tidepool FILE.db`."""
    require_study_file(options.file)
    if options.db != parser.get_default("db"):
        raise UsageError(f"--db {options.db} and {options.file} are two study files. Give only one.")
    if options.run or options.resume:
        raise UsageError(f"With --run or --resume, give the study file as --db {options.file}.")
    return str(options.file)


def _refuse_without_terminal() -> None:
    """Raises without a terminal, since an app in a pipe cannot be seen or closed. `tidepool web` sets its own driver."""
    if os.environ.get("TEXTUAL_DRIVER"):
        return
    missing = [name for name in ("stdin", "stdout") if not getattr(sys, name).isatty()]
    if missing:
        raise UsageError(
            f"The app needs a terminal, but {' and '.join(missing)} {'are' if missing[1:] else 'is'} not one. "
            "Without a terminal, use `tidepool run CONFIG.toml` to run a study and `tidepool list` to list batches."
        )


class _Version(argparse.Action):
    """Reads the version only on request, since reading the metadata doubles the start time."""

    def __call__(self, parser: argparse.ArgumentParser, *ignored: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            echo(f"tidepool {version('tidepool-lab')}")
        except PackageNotFoundError:
            echo("tidepool (not installed; run from source)")
        parser.exit()


ARGPARSE_HINTS = {
    "are required: BATCH": ". `last` is the newest one; `tidepool list` shows all",
    "are required: ACTION": ". `--help` lists them",
    "unrecognized arguments: --": ". `--help` lists the options. run, plan and bench override config values with --set KEY=VALUE",
}
"""added to an error of argparse that contains the key"""


class _Parser(argparse.ArgumentParser):
    """Lists commands in groups, and escapes control characters in errors, which quote the input."""

    def format_help(self) -> str:
        if self.prog != "tidepool":
            return super().format_help()
        lines = [f"usage: tidepool [OPTIONS] COMMAND …\n       tidepool [FILE.db]\n\n{fill(str(self.description), 80)}"]
        for group in dict.fromkeys(command.group for command in COMMANDS.values()):
            lines.append(f"\n{group}:")
            lines += [f"  {name:<11} {one.summary}" for name, one in COMMANDS.items() if one.group == group]
        formatter = self._get_formatter()
        formatter.start_section("\noptions")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        return "\n".join([*lines, "", formatter.format_help(), EPILOG, ""])

    def error(self, message: str) -> NoReturn:
        hint = next((words for beginning, words in ARGPARSE_HINTS.items() if beginning in message), "")
        super().error(f"{message}{hint}")

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        super()._print_message(plain(message), file)


OF_A_RUN = ("--run", "--resume", "--dry-run", "--set", "--on-stop", "--trust", "--full", "--quiet")
"""options of --run and --resume, which have no effect before a command"""
WITH_VALUE = ("--db", "--run", "--resume", "--set", "--on-stop")


def whole_parser() -> argparse.ArgumentParser:
    """Returns the parser with the arguments of every command."""
    parser = _bare_parser()
    subparsers = _commands_of(parser)
    for name in COMMANDS:
        _add_command(subparsers, name, whole=True)
    return parser


def _parser(arguments: list[str]) -> tuple[argparse.ArgumentParser, str | None]:
    parser = _bare_parser()
    command = _command_in(arguments)
    if command is None and {"-h", "--help"}.isdisjoint(arguments):
        parser.add_argument("file", nargs="?", metavar="COMMAND … or FILE.db")
        return parser, None
    subparsers = _commands_of(parser)
    for name in [command] if command else COMMANDS:  # building all parsers doubles the start time
        _add_command(subparsers, name, whole=name == command)
    return parser, command


def _command_in(arguments: list[str]) -> str | None:
    """Returns the first word that is neither an option nor its value, if it is a command."""
    words = zip(["", *arguments], arguments, strict=False)
    first = next((word for before, word in words if word[:1] != "-" and before not in WITH_VALUE), None)
    if first not in COMMANDS:
        return None
    for option in arguments[: arguments.index(first)]:
        if option.partition("=")[0] in OF_A_RUN:
            raise UsageError(
                f"{option} has no effect before the command `{first}`. Write it after the command, or leave the command out."
            )
    return first


def _commands_of(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    return parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")


def _add_command(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, *, whole: bool) -> None:
    one = COMMANDS[name]
    examples = "\n".join(f"  tidepool {name} {arguments}".rstrip() for arguments in one.examples)
    command = subparsers.add_parser(
        name,
        help=one.summary,
        description=f"{one.summary}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if whole:
        shared_options(command, default=False)
        _, add_arguments = _functions_of(name)
        add_arguments(name, command)


def _functions_of(
    name: str,
) -> tuple[Callable[[argparse.Namespace], int], Callable[[str, argparse.ArgumentParser], None]]:
    """Loads the module of a command. Returns the functions that run it and add its arguments."""
    module_name, _, part = COMMANDS[name].place.partition(":")
    module = import_module(f"tidepool.tui.command.commands.{module_name}")
    if not part:
        return module.run, module.add_arguments
    return getattr(module, f"run_{part}"), getattr(module, f"add_{part}_arguments")


def _bare_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tidepool",
        description="Runs large studies with language-model agents, shows them live, and stores them in one SQLite file. "
        "Without a command, opens the app on ./tidepool.db or on FILE.db.",
    )
    shared_options(parser, default=True)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--run", metavar="CONFIG.toml", help="the same as the command run")
    modes.add_argument("--resume", metavar="BATCH", help="the same as the command resume")
    run_options(parser, default=True)
    return parser


def shared_options(parser: argparse.ArgumentParser, *, default: bool) -> None:
    """Adds options that are allowed before and after the command."""
    add = _adder(parser, default)
    add("--db", "tidepool.db", metavar="FILE", help="the study file (./tidepool.db)")
    add("--json", False, action="store_true", help="print one JSON object")
    add("--debug", False, action="store_true", help="print tracebacks")


def run_options(parser: argparse.ArgumentParser, *, default: bool) -> None:
    """Adds the options of --run, --resume and the commands `run`, `resume` and `branch`."""
    add = _adder(parser, default)
    add("--dry-run", False, action="store_true", help="check, plan and price the study without running it")
    overriding = "override a config value, e.g. service.max_concurrent=50"
    add("--set", [], action="append", metavar="KEY=VALUE", help=overriding)
    add(
        "--on-stop",
        "leave",
        choices=("leave", "cancel"),
        help="leave provider batches running when stopped, or cancel them (leave)",
    )
    trusting = "run a batch that was created on another machine"
    add("--trust", False, action="store_true", help=trusting)
    add("--full", False, action="store_true", help="print the whole report")
    add("--quiet", False, action="store_true", help="print only the findings, without progress")


def _adder(parser: argparse.ArgumentParser, default: bool) -> Callable[..., None]:
    """Returns a function that adds an option. After a command, options have no default, to keep a value before it."""

    def add(name: str, usual: object, **more: Any) -> None:
        parser.add_argument(name, default=usual if default else argparse.SUPPRESS, **more)

    return add


# -- `tidepool FILE.db`: whether a word in a command's place is a study file ------------------------------------------


SUFFIXES = (".db", ".sqlite", ".sqlite3")


def require_study_file(argument: str) -> None:
    """Raises unless the argument is an existing study file or a valid name of a new one."""
    path = Path(argument)
    if path.is_dir():
        raise UsageError(f"{argument} is a folder. Name the study file in it, such as {path / 'tidepool.db'}.")
    if path.suffix.lower() in SUFFIXES:
        return
    if "#" in argument:
        raise UsageError(f"To run {argument} again, use `tidepool run {argument}`.")
    if path.suffix.lower() == ".toml":
        raise UsageError(f"{argument} is a config, not a study file. Use `tidepool run {argument}`.")
    from difflib import get_close_matches

    suggestions = get_close_matches(argument, list(COMMANDS), n=1)
    hint = f". Did you mean {suggestions[0]!r}?" if suggestions else ". `tidepool --help` lists the commands."
    raise UsageError(f"{argument!r} is neither a command nor a study file (*.db){hint}")


if __name__ == "__main__":
    sys.exit(main())
