"""What the documents have people type to start a cluster: every option and key in it exists."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from, load_config
from tidepool.tui.command.main import _parser

yaml = pytest.importorskip("yaml")
scripts = pytest.importorskip("ray.scripts.scripts", reason="the extra `cluster` is not installed")

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "cluster"
GUIDE = (ROOT / "docs" / "scaling.md").read_text()
STUDY = FOLDER / "study.toml"


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        yield re.sub(r"(^|\s)#.*", "", line).strip()


def _commands() -> list[list[str]]:
    kube = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    sky = yaml.safe_load((FOLDER / "skypilot.yaml").read_text())
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    texts = [*blocks, (FOLDER / "slurm.sh").read_text(), kube["spec"]["entrypoint"], sky["setup"], sky["run"]]
    found = [shlex.split(line) for text in texts for line in _lines(text) if re.search(r"\b(ray|tidepool) ", line)]
    parts = [part for words in found for part in _apart(words)]
    return [words for words in parts if words[0] in ("ray", "tidepool")]


def _apart(words: list[str]) -> Iterator[list[str]]:
    """`srun … ray symmetric-run … -- tidepool …` is two of them."""
    starts = [place for place, word in enumerate(words) if word in ("ray", "tidepool")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        part = words[start:end]
        yield part[: part.index("--")] if "--" in part else part


def test_every_option_of_ray_exists() -> None:
    known = {name: {o for p in command.params for o in p.opts} for name, command in scripts.cli.commands.items()}
    used = [words for words in _commands() if words[0] == "ray"]
    assert {words[1] for words in used} == {"start", "stop", "symmetric-run", "get-auth-token"}
    for _, name, *options in used:
        allowed = known[name] | (known["start"] if name == "symmetric-run" else set())
        assert {option.partition("=")[0] for option in options if option.startswith("--")} <= allowed, (name, options)


def test_every_command_of_tidepool_is_one_and_every_key_that_it_sets_is_known() -> None:
    used = [words[1:] for words in _commands() if words[0] == "tidepool"]
    assert len(used) >= 6
    for words in used:
        said = [re.sub(r"\$\w+", "4", word) for word in words]
        options = _parser(said)[0].parse_args(said)
        load_config(STUDY, options.set)


def test_the_study_is_one_and_each_hand_asks_at_its_own_node(tmp_path: Path) -> None:
    config = load_config(STUDY)
    assert freeze(config, tmp_path / "study.db").providers.section("vllm").hosts == ["local"]
    assert config.cluster is not None and config.cluster.resources == {"llm": 1.0}


def test_every_table_of_the_guide_is_valid() -> None:
    study = tomllib.loads(STUDY.read_text())
    for block in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL):
        shown = tomllib.loads(block)
        providers = {**study["providers"], **shown.get("providers", {})}
        config_from({**study, **shown, "providers": providers}, folder=FOLDER)


def test_pods_and_tasks_have_the_keys_that_their_kinds_know() -> None:
    kube = yaml.safe_load((FOLDER / "kuberay.yaml").read_text())
    assert (kube["apiVersion"], kube["kind"]) == ("ray.io/v1", "RayJob")
    cluster = kube["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    known = {option for param in scripts.start.params for option in param.opts}
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert {f"--{name}" for name in group["rayStartParams"]} <= known
        assert all({"name", "image"} <= container.keys() for container in group["template"]["spec"]["containers"])
    sky = yaml.safe_load((FOLDER / "skypilot.yaml").read_text())
    assert sky.keys() <= {"name", "num_nodes", "workdir", "resources", "envs", "secrets", "setup", "run"}
