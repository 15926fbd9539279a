"""A config becomes what a batch keeps, once, and by type."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from tidepool import Evolution, load_config
from tidepool.engine.config.freezing import freeze, load_frozen, with_overrides
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.section import Section, with_full_names
from tidepool.engine.config.sections import Config, ModelName
from tidepool.engine.errors import UsageError
from tidepool.engine.kinds import KINDS, load_kind

NOWHERE = Path("none.db")


class Panel(Section):
    """A made-up part of a study that no other file knows."""

    chair: ModelName = "claude_haiku"
    topic: str = "llama"
    """a preset's name, but no model"""


class MadeUp(Section):
    narrator: ModelName = "gpt35"
    second: ModelName | None = None
    voices: list[ModelName] = Field(default_factory=list)
    by_role: dict[str, ModelName] = Field(default_factory=dict)
    panels: list[Panel] = Field(default_factory=list)
    panel: Panel | None = None
    title: str = "gpt35"
    weights: dict[str, float] = Field(default_factory=dict)


MADE_UP = MadeUp(
    second="llama",
    voices=["gpt35", "simulated:x"],
    by_role={"llama": "llama"},
    panels=[Panel()],
    panel=Panel(chair="llama"),
)


def test_a_model_field_of_a_new_section_is_frozen_without_being_listed_anywhere() -> None:
    frozen = with_full_names(MADE_UP)
    assert frozen.narrator == "openai:gpt-5.4-mini"
    assert frozen.second == "ollama:llama3.2"
    assert frozen.voices == ["openai:gpt-5.4-mini", "simulated:x"]
    assert frozen.by_role == {"llama": "ollama:llama3.2"}
    assert frozen.panel is not None
    assert [one.chair for one in (*frozen.panels, frozen.panel)] == ["anthropic:claude-haiku-5-5", "ollama:llama3.2"]
    assert (frozen.title, frozen.panels[0].topic) == ("gpt35", "llama"), "words that are no models stay"


def test_what_was_left_to_a_default_is_still_told_apart() -> None:
    assert with_full_names(MadeUp(title="x")).model_fields_set == {"title", "narrator"}
    untouched = Panel(chair="simulated:x")
    assert with_full_names(untouched) is untouched


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_is_frozen_once_however_it_gets_to_its_batch(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    times: list[Path | None] = []

    study, whole = load_kind(kind).study, load_kind(kind).study.freeze

    def counted(config: Config, folder: Path | None) -> Config:
        times.append(folder)
        return whole(config, folder)

    monkeypatch.setattr(study, "freeze", counted)
    config = load_config(f"examples/{kind}.toml")
    assert times == []
    frozen = freeze(config, tmp_path / "none.db")
    assert times == [Path("examples").absolute()]
    load_frozen(frozen.to_json())
    assert times[1:] == [None], "out of a batch nothing is read"


NAMES_A_FILE = [
    ("simulation", {"context_file": "secret.txt"}),
    ("simulation", {"context": "x", "entity_file": "secret.txt"}),
    ("evolution", {"problems": "secret.txt"}),
    ("mutation", {"queries": "secret.txt"}),
    ("mutation", {"policy": "secret.txt"}),
]


@pytest.mark.parametrize(("kind", "settings"), NAMES_A_FILE)
def test_no_file_is_read_because_a_batch_of_a_file_names_it(
    kind: str, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("not for strangers")
    text = json.dumps({"batch": {"kind": kind}, kind: settings})
    with pytest.raises(UsageError, match="names a file") as refused:
        load_frozen(text)
    assert "not for strangers" not in str(refused.value)


def test_a_batch_that_names_entries_of_a_library_is_not_one_of_ours() -> None:
    text = json.dumps({"batch": {"kind": "secret_game"}, "secret_game": {}, "agent_ids": ["ada"]})
    with pytest.raises(UsageError, match="names library entries"):
        load_frozen(text)


def test_a_mistake_of_the_whole_names_the_file_it_was_made_in() -> None:
    study = {"batch": {"kind": "simulation"}, "simulation": {"context": "x"}}
    with pytest.raises(UsageError, match=r"^s\.toml: The simulation has no entities"):
        freeze(config_from(study, source="s.toml"), NOWHERE)


def test_relative_paths_start_where_the_config_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "plan.txt").write_text("A plan")
    (tmp_path / "study" / "s.toml").write_text(
        '[batch]\nkind = "simulation"\n[simulation]\ncontext_file = "plan.txt"\ninteraction_size = 1\n[[entities]]\nname = "A"\n'
    )
    monkeypatch.chdir(tmp_path)
    config = load_config("study/s.toml")
    monkeypatch.chdir(tmp_path / "study")
    assert json.loads(freeze(config, NOWHERE).to_json())["simulation"]["context"] == "A plan"


@pytest.mark.parametrize("name", ["study.toml", Path("study.toml")])
def test_the_name_of_a_file_is_no_study_and_the_error_says_what_reads_it(name: Any) -> None:
    with pytest.raises(UsageError, match=r'load_config\("study.toml"\)'):
        freeze(name, NOWHERE)


def test_an_override_on_resume_still_obeys_the_ceilings_of_the_study() -> None:
    frozen = freeze(Evolution(enable_async_evaluation=False), NOWHERE)
    changed = with_overrides(frozen, ["service.max_concurrent=500", "service.retries=1"])
    assert changed.service.max_concurrent == frozen.service.max_concurrent == 1
    assert changed.service.retries == 1
    assert changed.settings == frozen.settings
