"""`make demo`: a study of each kind, headless and offline, into demo/tidepool.db."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUDIES = ("secret_game.toml", "simulation.toml", "evolution.toml", "mutation.toml")


def main() -> int:
    folder = ROOT / "demo"
    folder.mkdir(exist_ok=True)
    database = folder / "tidepool.db"
    for name in STUDIES:
        print(f"\n$ tidepool --db {database.relative_to(ROOT)} --run examples/{name}\n", flush=True)
        command = [sys.executable, "-m", "tidepool", "--db", str(database), "--run", str(ROOT / "examples" / name)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code:
            return code
    print(f"\nAll of it is in {database.relative_to(ROOT)}. Open it: {_command()} --db {database.relative_to(ROOT)}")
    return 0


def _command() -> str:
    """As it can be typed here: an environment that make has set up is not on the path."""
    beside = Path(sys.executable).with_name("tidepool")
    return str(beside.relative_to(ROOT)) if beside.is_relative_to(ROOT) else "tidepool"


if __name__ == "__main__":
    sys.exit(main())
