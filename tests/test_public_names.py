"""`from tidepool import …`: what an editor follows is what is there, and importing costs next to nothing."""

import ast
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
