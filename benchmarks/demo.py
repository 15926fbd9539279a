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
    print(f"\nAll studies are in {database.relative_to(ROOT)}. Next:\n")
    print("\n".join(f"  {line}" for line in next_commands()))
    return 0


def next_commands() -> list[str]:
    """What to type in the checkout: the environment that make has set up is not on the PATH."""
    scripts = Path(sys.executable).parent
    activate = [f"source {scripts.relative_to(ROOT)}/activate"] if scripts.is_relative_to(ROOT) else []
    return [*activate, "tidepool demo/tidepool.db"]


if __name__ == "__main__":
    sys.exit(main())
