"""The map of every folder of code, from the first sentence of its package: `python -m tests.support.house_map` writes it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design.md"
HEAD = "| folder | what lives there |\n| --- | --- |\n"


def house_map() -> str:
    rows = []
    for room in ("storage", "engine", "tui"):
        for package in sorted((ROOT / room).rglob("__init__.py")):
            said = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
            rows.append(f"| `{package.parent.relative_to(ROOT)}/` | {said.partition(chr(10))[0]} |\n")
    return HEAD + "".join(rows)


def with_map(page: str) -> str:
    """The page with its map as the code has it now."""
    before, head, rest = page.partition(HEAD)
    assert head, "the page has no map"
    return before + house_map() + rest[rest.index("\n\n") + 1 :]


if __name__ == "__main__":
    PAGE.write_text(with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
