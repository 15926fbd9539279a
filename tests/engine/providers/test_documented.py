"""docs/providers.md says what the code does."""

import re
from pathlib import Path

from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS, PRESET_ENDPOINTS, PRESET_TABLE
from tidepool.engine.runtime.batch_lifecycle import SEARCHES
from tidepool.engine.runtime.provider_batch import SMALL_REMAINDER, SMALL_SHARE

PAGE = (Path(__file__).parent.parent.parent.parent / "docs" / "providers.md").read_text()


def test_the_table_of_presets_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+:[\w.-]+)` \| (.*?) ?\|$", PAGE, flags=re.M)
    assert rows == [(name, preset.model, preset.note) for name, preset in PRESET_TABLE.items()]


def test_every_variable_that_holds_a_key_is_named() -> None:
    assert all(variable in PAGE for known in KNOWN_ENDPOINTS.values() for variable in known.keys)


def test_the_table_of_known_endpoints_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (openai|anthropic|ollama) \| (\S+) \| (\S+) \| ?(.*?) ?\|$", PAGE, flags=re.M)
    assert rows == [
        (name, known.like, known.address or "yours", "".join(f"`{key}`" for key in known.keys) or "none", known.note)
        for name, known in PRESET_ENDPOINTS.items()
    ]


def test_the_figures_are_those_of_the_code() -> None:
    words = " ".join(PAGE.split())
    assert SEARCHES == 4 and "searches four times" in words
    assert (SMALL_REMAINDER, SMALL_SHARE) == (10, 0.02) and "ten such requests (or 2 %" in words
