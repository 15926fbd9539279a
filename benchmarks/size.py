"""Counts files, lines and tokens: `python -m benchmarks.size [FOLDER …]`.

Tokens leave out comments, line ends and indentation, so that neither joining lines nor deleting comments changes the count.
"""

import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = ("engine", "storage", "tui")
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


@dataclass(frozen=True)
class Size:
    files: int
    lines: int
    tokens: int


def measure(*folders: str) -> Size:
    """The Python files below `folders`; empty files do not count."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path.stat().st_size]
    return Size(len(files), sum(_lines(path) for path in files), sum(_tokens(path) for path in files))


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _tokens(path: Path) -> int:
    with path.open("rb") as source:
        return sum(token.type not in LAYOUT for token in tokenize.tokenize(source.readline))


def main() -> None:
    rows = {name: measure(name) for name in sys.argv[1:]} or {
        "product": measure(*PRODUCT),
        **{name: measure(name) for name in (*PRODUCT, "tests", "benchmarks")},
    }
    print(f"{'':12}{'files':>8}{'lines':>10}{'tokens':>10}")
    for name, size in rows.items():
        print(f"{name:12}{size.files:>8}{size.lines:>10,}{size.tokens:>10,}")


if __name__ == "__main__":
    main()
