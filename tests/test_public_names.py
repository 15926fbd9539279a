"""`from tidepool import …`: what an editor follows is what is there, and importing costs next to nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import tidepool

ROOT = Path(__file__).parent.parent
CONTRACT = {"Agent", "SecretGame", "Service", "load_config", "run_batch"}
HEAVY = {"pydantic", "sqlmodel", "sqlalchemy", "numpy", "textual", "asyncio", "sqlite3"}


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
    assert all(getattr(tidepool, name) for name in tidepool.__all__)


def test_importing_tidepool_loads_nothing_that_takes_time() -> None:
    command = [sys.executable, "-c", "import sys, tidepool; print(*sys.modules)"]
    loaded = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & HEAVY and not {name for name in loaded if name.startswith("tidepool.")}
