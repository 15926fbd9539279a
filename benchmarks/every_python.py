"""The installed package on every supported Python that this machine has: `make pythons`.

For each interpreter but the one that runs the tests: a fresh environment with the package installed as users install it, a
study of each kind by the command. On all of them: journeys through the app with every kind, by keys in a real terminal and
by the mouse in a real browser (benchmarks/journeys). An interpreter that is not there is named, and so is a terminal or a
browser. Environments are kept in `.pythons/`, so that a second run is quick.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.journeys.journey import HERE, Ended, every_journey, run

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".pythons"
STUDIES = {
    "secret_game": ["secret_game.num_interactions=12"],
    "simulation": ["simulation.num_simulations=4"],
    "evolution": [
        "evolution.population_size=6",
        "evolution.max_generations=2",
        "evolution.max_problems=8",
        "evolution.elite_size=2",
    ],
    "mutation": ["mutation.num_env_steps=200"],
}
"""each kind's example, made small"""
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def supported() -> list[str]:
    """The versions that the package's classifiers promise."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    words = (line.removeprefix("Programming Language :: Python :: ") for line in project["classifiers"])
    return [version for version in words if version.count(".") == 1]


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or in pyenv's folders."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*sorted(pyenv.glob(f"{version}.*/bin/python")), *filter(None, [shutil.which(f"python{version}")])]
    return next((str(path) for path in found if _answers(str(path), version)), None)


def _answers(path: str, version: str) -> bool:
    words = "import sys, ensurepip; print(*sys.version_info[:2], sep='.')"
    done = subprocess.run([path, "-c", words], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def installed(version: str, python: str) -> Path:
    """The command of an environment with the package as it stands now."""
    folder = ENVIRONMENTS / version
    here = str(folder / "bin" / "python")
    if not Path(here).exists():
        _quietly([python, "-m", "venv", str(folder)])
    _quietly([here, "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), f"{ROOT}[web]"])
    _quietly([here, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT)])
    return folder / "bin" / "tidepool"


def _quietly(command: Sequence[str], **more: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )


def runs_every_kind(command: Path, database: Path) -> None:
    for kind, settings in STUDIES.items():
        options = [word for setting in settings for word in ("--set", setting)]
        config = str(ROOT / "examples" / f"{kind}.toml")
        _quietly([str(command), "--db", str(database), "--run", config, *options], cwd=database.parent)


def travels(version: str, command: Sequence[str]) -> None:
    """A person's way with a study of each kind: by keys in a terminal, by the mouse in a browser. A hand that is too quick for
    a busy machine may lose its way: that is told, and it sets out once more."""
    ways = [*every_journey(stages=["terminal"], hands=["keys"]), *every_journey(stages=["browser"], hands=["mouse"])]
    ended = list(run(ways, command))
    if lost := [one for one in ended if one.lost]:
        _told(version, lost)
        ended = [one for one in ended if not one.lost] + list(run([one.journey for one in lost], command))
    _told(version, [one for one in ended if not one.good])
    if any(one.lost for one in ended):
        raise SystemExit(1)
    made = [one for one in ended if one.good]
    seconds = sum(one.seconds for one in made)
    print(f"Python {version}: {len(made)} of {len(ended)} journeys made, {seconds:.0f} s", flush=True)


def _told(version: str, ended: Sequence[Ended]) -> None:
    for one in ended:
        print(f"Python {version}: {one}", flush=True)


def main() -> int:
    travels(THIS, HERE)
    for version in supported():
        if version == THIS:
            continue
        if (python := interpreter(version)) is None:
            print(f"Python {version}: not on this machine, not tried", flush=True)
            continue
        command = installed(version, python)
        with tempfile.TemporaryDirectory() as place:
            os.environ["TIDEPOOL_STATE"] = str(Path(place) / "state")
            database = Path(place) / "study.db"
            runs_every_kind(command, database)
        print(f"Python {version}: installed, a study of each kind by the command: good", flush=True)
        travels(version, (str(command),))
    return 0


if __name__ == "__main__":
    sys.exit(main())
