"""The configs that the guide to clusters shows are valid."""

import re
import tomllib
from pathlib import Path

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from, load_config

ROOT = Path(__file__).parents[3]
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
