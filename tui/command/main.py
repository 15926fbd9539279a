"""The command `tidepool`. Only argparse is loaded here; each command loads what it needs when it runs."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.storage.text import plain, watch
from tidepool.tui.command.output import echo, echo_err

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS = {
    "run": ("run", "runs a study headless, as --run does; FILE.db#BATCH: one of a file again"),
    "new": ("start", "writes a commented config to start from, which runs offline: of one kind of study"),
    "examples": ("start", "the examples; NAME copies one out, with the files it needs"),
    "plan": (
        "plan:plan",
        "what a study would take, and how sure it would be: calls, money, time, power; calls no model",
    ),
    "list": ("list_batches", "the batches of the file"),
    "show": (
        "read",
        "one batch: its summary; a transcript (--conversation N), a prompt or a problem with its answers (--genome, --problem), a family tree (--genealogy)",
    ),
    "stats": ("read", "the statistics of one batch"),
    "log": ("read", "what happened while a batch ran"),
    "stop": ("manage:steer", "stops a running batch; it can be resumed"),
    "pause": ("manage:steer", "pauses a running batch"),
    "continue": ("manage:steer", "lets a paused batch go on"),
    "orders": ("manage:orders", "the provider batches of a batch: their states and ages; --give-up ID lets go of one"),
    "limits": ("manage:steer", "changes limits of a running batch: KEY=VALUE…"),
    "code": ("code", "coding a blinded sample by hand: one key a code; --status, --export and --import CSV"),
    "branch": ("run:branch", "goes on with talks of a batch from one turn: drawn again, or said otherwise"),
    "compare": ("read:compare", "side-by-side statistics of several batches"),
    "export": ("files:export", "one batch out: json, csv, sqlite, html, markdown, parquet, toml, policy"),
    "publish": (
        "files:publish",
        "a study as a folder to publish: its file, Parquet, reports, configs, a dataset card",
    ),
    "entities": ("library:entities", "the library's entities: list, show, add, generate, remove, types"),
    "agents": ("library:agents", "the library's agents: list, show, add, generate, remove"),
    "import": ("files:import", "batches, entities and agents of another Tidepool file in, each once"),
    "models": ("models", "models of each provider, prices, retirement dates, keys; --pull NAME for Ollama"),
    "delete": ("manage:delete", "removes a batch, after a question or with --yes"),
    "web": ("serve:web", "the same app in a browser, on loopback"),
    "api": ("serve:api", "the HTTP API, on loopback"),
    "trust": ("manage:trust", "batches that this machine trusts: list, add, remove"),
    "bench": ("plan:bench", "measures this machine; with a CONFIG.toml, what waves gain over one call at a time"),
    "completion": ("start:completion", "prints a shell completion script: bash, zsh, tcsh"),
}
"""name → (MODULE in tidepool.tui.command.commands with its `run`, or MODULE:NAME with its `run_NAME`; help)"""

EPILOG = (
    "BATCH is an id, a unique prefix of one, `last`, or `last~1` for the one before. Exit codes: 0 completed, 1 failed, 2 wrong usage or config, "
    "3 partial, 4 stopped by its budget, 130/143 interrupted; the last three can be resumed."
)


PIPE_CLOSED = 141
"""what a shell reports of a program whose reader went away (SIGPIPE)"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    # Our matrices are small: the threads of numpy's library cost more to start than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):  # of another encoding than UTF-8: question marks rather than nothing
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
        explained_error = error if isinstance(error, TidepoolError) else _blamed(arguments, error)
        if explained_error is None:
            echo_err(
                f"tidepool: something unexpected went wrong ({type(error).__name__}: {error}). "
                "Run it again with --debug to see where, and please report it."
            )
            return 1
        echo_err(f"tidepool: {explained_error}")
        return explained_error.exit_code


def _blamed(arguments: list[str], error: Exception) -> "TidepoolError | None":
    """The file may be a stranger's, with contents that no Tidepool writes: then it is told what is wrong in it."""
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
    sweep()  # what a killed command left
    if command is not None:
        run_command, _ = _functions_of(command)
        return int(run_command(options))
    if options.trust and not options.resume and "#" not in (options.run or ""):
        parser.error("--trust goes with --resume or FILE.db#BATCH: a config that is handed to --run is your own word")
    if options.run or options.resume:
        from tidepool.tui.command.commands import run

        return run.run(options)
    for name in ("dry_run", "set", "json"):
        if getattr(options, name):
            parser.error(f"--{name.replace('_', '-')} goes with --run or --resume, or with a command")
    _refuse_without_terminal()
    from tidepool.tui.app.opening import open_app

    return open_app(options.db)


def _app_file(parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    """The study file that was named in place of a command: `tidepool FILE.db`."""
    require_study_file(options.file)
    if options.db != parser.get_default("db"):
        raise UsageError(f"--db {options.db} and {options.file} are two study files: name one.")
    if options.run or options.resume:
        raise UsageError(f"{options.file} alone opens the app: beside --run and --resume write --db {options.file}.")
    return str(options.file)


def _refuse_without_terminal() -> None:
    """In a pipe nobody sees the app, and nobody could leave it. `tidepool web` brings a driver of its own."""
    if os.environ.get("TEXTUAL_DRIVER"):
        return
    missing = [name for name in ("stdin", "stdout") if not getattr(sys, name).isatty()]
    if missing:
        raise UsageError(
            f"The app needs a terminal, and {' and '.join(missing)} {'are' if missing[1:] else 'is'} none. "
            "Without one, `tidepool run CONFIG.toml` runs a study and `tidepool list` tells of those in the file."
        )


class _Version(argparse.Action):
    """Looked up only when it is asked for: reading a distribution's metadata takes as long as all the rest of a start."""

    def __call__(self, parser: argparse.ArgumentParser, *ignored: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            echo(f"tidepool {version('tidepool-lab')}")
        except PackageNotFoundError:
            echo("tidepool, not installed: run from its source")
        parser.exit()


ARGPARSE_HINTS = {
    "are required: BATCH": ": `last` is the newest, and `tidepool list` shows all",
    "are required: ACTION": ": `--help` lists them",
    "unrecognized arguments: --": ". `--help` lists the options; run, plan and bench override values of their config by --set KEY=VALUE",
}
"""what is said behind a complaint of argparse that contains this"""


class _Parser(argparse.ArgumentParser):
    """A complaint quotes what was typed, and a shell types names of files as it finds them."""

    def error(self, message: str) -> NoReturn:
        hint = next((words for beginning, words in ARGPARSE_HINTS.items() if beginning in message), "")
        super().error(f"{message}{hint}")

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        super()._print_message(plain(message), file)


OF_A_RUN = ("--run", "--resume", "--dry-run", "--set", "--on-stop", "--trust")
"""options of --run and --resume; before a command they would do nothing"""
WITH_VALUE = ("--db", "--run", "--resume", "--set", "--on-stop")


def whole_parser() -> argparse.ArgumentParser:
    """Every command with all that it takes."""
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
    for name in [command] if command else COMMANDS:  # twenty parsers take as long to make as all else here
        _add_command(subparsers, name, whole=name == command)
    return parser, command


def _command_in(arguments: list[str]) -> str | None:
    """The first word that is neither an option nor the value of one, where it is a command."""
    words = zip(["", *arguments], arguments, strict=False)
    first = next((word for before, word in words if word[:1] != "-" and before not in WITH_VALUE), None)
    if first not in COMMANDS:
        return None
    for option in arguments[: arguments.index(first)]:
        if option.partition("=")[0] in OF_A_RUN:
            raise UsageError(
                f"{option} would do nothing beside the command `{first}`: write it behind the command, or leave that out."
            )
    return first


def _commands_of(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    return parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")


def _add_command(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, *, whole: bool) -> None:
    text = COMMANDS[name][1]
    command = subparsers.add_parser(name, help=text, description=text)
    if whole:
        shared_options(command, default=False)
        _, add_arguments = _functions_of(name)
        add_arguments(name, command)


def _functions_of(
    name: str,
) -> tuple[Callable[[argparse.Namespace], int], Callable[[str, argparse.ArgumentParser], None]]:
    """What runs a command, and what adds its arguments; its module is loaded now."""
    module_name, _, part = COMMANDS[name][0].partition(":")
    module = import_module(f"tidepool.tui.command.commands.{module_name}")
    if not part:
        return module.run, module.add_arguments
    return getattr(module, f"run_{part}"), getattr(module, f"add_{part}_arguments")


def _bare_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tidepool",
        description="Runs large studies with language-model agents, shows them live, and keeps them in one SQLite file. "
        "Without a command it opens the app, on ./tidepool.db or on the FILE.db that is named.",
        epilog=EPILOG,
    )
    shared_options(parser, default=True)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and leave")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--run", metavar="CONFIG.toml", help="run a study headless; FILE.db#BATCH: one of a file again")
    modes.add_argument("--resume", metavar="BATCH", help="go on with a batch that stopped; buys nothing twice")
    run_options(parser, default=True)
    return parser


def shared_options(parser: argparse.ArgumentParser, *, default: bool) -> None:
    """Options that may stand before or after the command."""
    add = _adder(parser, default)
    add("--db", "tidepool.db", metavar="FILE", help="the study file (./tidepool.db)")
    add("--json", False, action="store_true", help="one JSON object on stdout")
    add("--debug", False, action="store_true", help="show tracebacks")


def run_options(parser: argparse.ArgumentParser, *, default: bool) -> None:
    """Options of --run, --resume and the command `run`."""
    add = _adder(parser, default)
    add("--dry-run", False, action="store_true", help="check, plan and price; call no model, write nothing")
    overriding = "override a config value, e.g. service.max_concurrent=50"
    add("--set", [], action="append", metavar="KEY=VALUE", help=overriding)
    add("--on-stop", "leave", choices=("leave", "cancel"), help="what becomes of provider batches when stopped")
    trusting = "with --resume and FILE.db#BATCH: trust a batch that was not created here, as it is now"
    add("--trust", False, action="store_true", help=trusting)


def _adder(parser: argparse.ArgumentParser, default: bool) -> Callable[..., None]:
    """Adds an option with its default; behind a command it has none, so that one before the command stays."""

    def add(name: str, usual: object, **more: Any) -> None:
        parser.add_argument(name, default=usual if default else argparse.SUPPRESS, **more)

    return add


# -- `tidepool FILE.db`: whether a word in a command's place is a study file ------------------------------------------


SUFFIXES = (".db", ".sqlite", ".sqlite3")


def require_study_file(argument: str) -> None:
    """Raises unless the word names a study file, or one that will be made."""
    path = Path(argument)
    if path.is_dir():
        raise UsageError(f"{argument} is a folder: name the study file in it, such as {path / 'tidepool.db'}.")
    if path.suffix.lower() in SUFFIXES:
        return
    if "#" in argument:
        raise UsageError(f"{argument} is a study of a file: `tidepool run {argument}` runs it again.")
    if path.suffix.lower() == ".toml":
        raise UsageError(f"{argument} is no study file but a config: `tidepool run {argument}` runs it.")
    from difflib import get_close_matches

    suggestions = get_close_matches(argument, list(COMMANDS), n=1)
    hint = f": did you mean {suggestions[0]!r}?" if suggestions else ": `tidepool --help` lists the commands."
    raise UsageError(f"{argument!r} is neither a command nor a study file (*.db){hint}")


if __name__ == "__main__":
    sys.exit(main())
