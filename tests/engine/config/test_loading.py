"""Reading a config: whatever is written, it is a study or one clear sentence."""

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import Config, FrozenConfig
from tidepool.engine.config.toml_files import apply_override
from tidepool.engine.errors import UsageError

ROOT = Path(__file__).parents[3]
GAME = (ROOT / "examples" / "secret_game.toml").read_text()


def game(**sections: Any) -> dict[str, Any]:
    data = tomllib.loads(GAME)
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values} if isinstance(values, dict) else values
    return data


KEYS = sorted({"batch", "service", "providers", "agents", "secret_game", *Config.model_fields, *game()["secret_game"]})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["batch", "service", "providers", "agents", "secret_game", "entities"]), VALUES)
def test_any_value_in_any_section_gives_a_config_or_a_usage_error(section: str, value: Any) -> None:
    data = {**game(), section: value}
    try:
        assert isinstance(freeze(config_from(data, folder=ROOT), ROOT / "none.db"), FrozenConfig)
    except UsageError as told:
        assert str(told)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40))
def test_any_override_changes_a_value_or_is_a_usage_error(override: str) -> None:
    data = game()
    try:
        apply_override(data, override)
        freeze(config_from(data, folder=ROOT), ROOT / "none.db")
    except UsageError as told:
        assert str(told)
