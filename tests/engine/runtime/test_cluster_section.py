"""[cluster] says who makes the calls, and nothing of the study."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tidepool.engine.config.cluster import Cluster, split_cluster_overrides
from tidepool.engine.config.freezing import freeze, load_frozen, with_overrides
from tidepool.engine.config.loading import cluster_for, config_from, load_config, user_file
from tidepool.engine.errors import UsageError
from tidepool.tui.command.main import main

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "secret_game.toml"


def test_no_batch_keeps_it(database: Path) -> None:
    plain, far = load_config(EXAMPLE), load_config(EXAMPLE, ["cluster.ray=head:6379", "cluster.hands=3"])
    assert far.cluster == Cluster(ray="head:6379", hands=3)
    assert freeze(far, database).to_json() == freeze(plain, database).to_json()
    assert far.as_given() == plain.as_given()


def test_a_file_that_names_a_cluster_is_not_obeyed(database: Path) -> None:
    stored = freeze(load_config(EXAMPLE), database).to_json()
    strange = stored[:-1] + ', "cluster": {"ray": "strange.example:6379"}}'
    assert load_frozen(strange).to_json() == stored


def test_a_batch_goes_on_with_the_hands_that_are_said_now(database: Path) -> None:
    frozen = freeze(load_config(EXAMPLE), database)
    said = ("cluster.hands=2", "service.max_concurrent=3", "cluster.resources.gpu=1")
    cluster, rest = split_cluster_overrides(said)
    assert cluster == Cluster(hands=2, resources={"gpu": 1.0}) and rest == ("service.max_concurrent=3",)
    assert with_overrides(frozen, said).service.max_concurrent == 3
    assert split_cluster_overrides(rest) == (None, rest)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("cluster.ray=strange", 'cluster.ray = "strange": use "local", "auto" or the address HOST:PORT'),
        ("cluster.ray=host:99999", "HOST:PORT"),
        ("cluster.hands=-1", "cluster.hands = -1"),
        ("cluster.hands=9999", "cluster.hands = 9999"),
        ("cluster.resources.gpu=-1", "cluster.resources.gpu = -1"),
        ("cluster.hand=1", "Did you mean 'hands'?"),
        ("cluster=3", "cluster"),
    ],
)
def test_what_is_wrong_with_it_is_told_by_key(said: str, told: str) -> None:
    with pytest.raises(UsageError, match="cluster") as refused:
        load_config(EXAMPLE, [said])
    assert told in str(refused.value)


def test_the_users_own_file_says_it_for_all_studies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(tmp_path))
    assert cluster_for(None) is None
    user_file().write_text('[cluster]\nray = "auto"\nhands = 5\n')
    assert cluster_for(None) == Cluster(ray="auto", hands=5)
    assert cluster_for(Cluster(hands=1)) == Cluster(hands=1)
    assert cluster_for(Cluster(hands=0)) is None


def test_a_branch_hears_of_the_cluster_too(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(database), "--run", str(EXAMPLE), "--set", "secret_game.num_interactions=1"]) == 0
    words = ["--db", str(database), "branch", "last", "--all", "--at", "t1", "--times", "1"]
    assert main([*words, "--set", "cluster.ray=127.0.0.1:9"]) == 2
    assert ("127.0.0.1:9" if find_spec("ray") else "need Ray") in capsys.readouterr().err


# -- the guide to clusters ----------------------------------------------------------------------------


FOLDER = ROOT / "examples" / "cluster"
GUIDE = (ROOT / "docs" / "scaling.md").read_text()
STUDY = FOLDER / "study.toml"


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
