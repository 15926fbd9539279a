"""`tidepool completion SHELL`: what a shell must read to complete commands, options and names of files."""

import argparse

from tidepool.tui.command.saying import say

SHELLS = ("bash", "zsh", "tcsh")
FILES = ("FILE", "CONFIG", "CONFIG.toml", "PATH", "CSV", "FOLDER")
"""what stands for a name of a file in the help"""


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help='for bash: eval "$(tidepool completion bash)" in ~/.bashrc')


def run(options: argparse.Namespace) -> int:
    import shtab

    from tidepool.tui.command.main import whole_parser

    parser = whole_parser()
    _name_files(parser, shtab.FILE)
    say(shtab.complete(parser, options.shell).rstrip())
    return 0


def _name_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Says of every argument that takes a file that it does."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _name_files(inner, files)
        elif action.metavar in FILES or action.dest == "output":
            action.complete = files  # type: ignore[attr-defined]
