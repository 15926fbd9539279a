from pathlib import Path

from tests.support.config_reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "config.md"


def test_the_reference_of_config_keys_is_what_the_code_says() -> None:
    assert PAGE.read_text() == reference(), "make it anew: python -m tests.support.config_reference > docs/config.md"


def test_every_config_key_is_explained() -> None:
    unexplained = [line for line in reference().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert unexplained == []
