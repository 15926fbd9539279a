"""`from tidepool import …`: what an editor follows is what is there, and importing costs next to nothing."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidepool

ROOT = Path(__file__).parent.parent
CONTRACT = {"Agent", "SecretGame", "Service", "load_config", "run_batch"}
HEAVY = {"pydantic", "sqlmodel", "sqlalchemy", "numpy", "textual", "asyncio", "sqlite3"}
BUILT_IN = ("types", "typing")
"""where a union of types lives: until Python 3.13, and from 3.14 on"""


def _followed_by_editors() -> dict[str, str]:
    """name → module, as the imports for type checkers say."""
    tree = ast.parse((ROOT / "tidepool" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def test_what_editors_follow_what_is_exported_and_what_is_loaded_are_the_same_names() -> None:
    assert _followed_by_editors() == tidepool._HOME_OF
    assert set(tidepool.__all__) == set(tidepool._HOME_OF) > CONTRACT


@pytest.mark.parametrize("name", tidepool.__all__)
def test_every_name_is_there_and_is_loaded_from_where_editors_look_for_it(name: str) -> None:
    found = getattr(tidepool, name)
    assert getattr(found, "__module__", "types") in (tidepool._HOME_OF[name], *BUILT_IN, "tidepool.storage.errors")
    assert name in dir(tidepool)


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'tidepool' has no attribute 'nonsense'"):
        tidepool.nonsense  # noqa: B018


def _told_by(program: str, cwd: Path = ROOT) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_tidepool_loads_nothing_that_takes_time() -> None:
    loaded = set(_told_by("import sys, tidepool; print(*sys.modules)").split())
    assert not loaded & HEAVY and not {name for name in loaded if name.startswith("tidepool.")}


def test_everything_can_be_imported_at_once() -> None:
    assert _told_by("from tidepool import *; print(run_batch.__name__, Entity('Ada').name)") == "run_batch Ada\n"


# -- as a type checker sees it -------------------------------------------------------------------------------

MISTAKES = """
import tidepool
from tidepool import Agent, SecretGame, Service, run_batch, nonsense

async def main() -> None:
    Agent(nam="Ada", model="gpt4o_mini")
    SecretGame(agents=[], num_interaction=20)
    SecretGame(agents=[], rounds="two")
    Service(name="lve")
    (await run_batch(SecretGame(agents=[]))).statuss
    await run_batch("study.toml")
"""
COMPLAINTS = [
    (3, 'has no attribute "nonsense"'),
    (6, 'keyword argument "nam" for "Agent"'),
    (7, 'keyword argument "num_interaction" for "SecretGame"; did you mean "num_interactions"?'),
    (8, '"rounds" to "SecretGame" has incompatible type "str"'),
    (9, '"name" to "Service" has incompatible type'),
    (10, '"Summary" has no attribute "statuss"; maybe "status"?'),
    (11, '"run_batch" has incompatible type "str"'),
]


def _checked(programs: dict[str, str], folder: Path) -> str:
    """What `mypy --strict` says of each, with the cache of the repository's own checks."""
    for name, text in programs.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, *(str(folder / name) for name in programs)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


def test_the_readme_s_program_is_well_typed_and_wrong_programs_are_told(tmp_path: Path) -> None:
    pages = {"readme": ROOT / "README.md", "tour": ROOT / "docs" / "python.md"}
    programs = {
        f"{name}_{place}.py": block
        for name, page in pages.items()
        for place, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S))
    }
    said = _checked({**programs, "mistakes.py": MISTAKES.lstrip("\n")}, tmp_path)
    found = re.findall(r"^(.*?):(\d+): error: (.*)$", said, flags=re.M)
    assert [line for name, *line in found if not name.endswith("mistakes.py")] == [], said
    expected = {line - 1: words for line, words in COMPLAINTS}
    told = {int(line): words for _, line, words in found}
    assert told.keys() == expected.keys() and all(expected[line] in told[line] for line in told), said
