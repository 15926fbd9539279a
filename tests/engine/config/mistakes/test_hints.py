"""A hint that is applied literally is accepted: each is written into the config, which is then loaded again."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.engine.config.mistakes.cases import EVOLUTION, GAME, MUTATION, PANEL
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.config.sections import Batch, OllamaSettings, ProviderSettings, Service
from tidepool.engine.config.toml_files import format_value
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.kinds import load_kind

NO_AGENTS = GAME[: GAME.index("[[agents]]")]
NO_ENTITIES = PANEL[: PANEL.index("[[entities]]")]

LINES = [
    (PANEL, "simulation", 'judge = "How open is the speaker?"', "judge = { model"),
    (PANEL, "simulation", "judge = [1, 5]", "judge = { model"),
    (PANEL, "simulation", 'judge = { question = "?", scale = "1-5" }', "scale = [1, 5]"),
    (PANEL, "simulation", 'judge = { question = "?", scale = "1 to 7" }', "scale = [1, 7]"),
    (PANEL, "simulation", 'judge = { question = "?", scale = 5 }', "scale = [1, 5]"),
    (PANEL, "simulation", 'entity_ids = "ada, bob"', 'entity_ids = ["ada", "bob"]'),
    (NO_ENTITIES, "", 'entities = ["ada", "bob"]', 'entity_ids = ["ada", "bob"]'),
    (NO_AGENTS, "", 'agents = ["ada", "bob"]', 'agent_ids = ["ada", "bob"]'),
    (NO_AGENTS, "", 'agents = "ada, bob"', 'agent_ids = ["ada", "bob"]'),
    (NO_AGENTS, "", 'entities = ["ada", "bob"]', 'agent_ids = ["ada", "bob"]'),
    (NO_ENTITIES, "", 'agents = ["ada", "bob"]', 'entity_ids = ["ada", "bob"]'),
    (NO_AGENTS, "", "agents = 3", 'agents = [{ name = "Ada", model = "simulated:guarded", secret = "marigold" }, {'),
    (NO_AGENTS, "", "agents = [1]", 'agents = [{ name = "Ada", model = "simulated:guarded", secret = "marigold" }, {'),
    (NO_ENTITIES, "", "entities = 3", 'entities = [{ name = "Hypatia", description ='),
    (NO_ENTITIES, "", "entities = [1]", 'entities = [{ name = "Hypatia", description ='),
    (GAME, "secret_game", 'scoring = "both = 2"', "scoring = { none"),
    (GAME, "secret_game", 'scenarios = ["marigold"]', "scenarios = [{ opener_secret"),
    (GAME, "", 'stop = "revealed"', "stop = { outcome"),
    (GAME, "", 'design = "seeds"', "design = { replicates"),
    (
        GAME,
        "design.factors",
        '"secret_game.mode" = "standard,retained"',
        '"secret_game.mode" = ["standard", "retained"]',
    ),
    (GAME, "design", "factors = 3", 'factors = { "agents.*.temperature" = [0.2, 1.0] }'),
    (PANEL, "design", "factors = 3", 'factors = { "simulation.temperature" = [0.2, 1.0] }'),
    (EVOLUTION, "design", "factors = []", 'factors = { "evolution.temperature" = [0.2, 1.0] }'),
    (MUTATION, "design", "factors = true", 'factors = { "mutation.temperature" = [0.2, 1.0] }'),
    (PANEL, "design.factors", '"simulation.n_turns" = 3', '"simulation.n_turns" = [3, 4]'),
    (PANEL, "design.factors", '"simulation.temperature" = 0.7', '"simulation.temperature" = [0.7, 0.35]'),
    (PANEL, "design.factors", '"simulation.thoughts" = true', '"simulation.thoughts" = [true, false]'),
    (GAME, "design.factors", '"secret_game.mode" = "standard"', '"agents.*.temperature" = [0.2, 1.0]'),
    (GAME, "design.factors", "firmness = 3", '"agents.*.temperature" = [0.2, 1.0]'),
    (GAME, "providers", 'openai = "http://localhost:8000/v1"', "openai = { max_concurrent"),
    (GAME, "providers.openai.prices", '"*" = 0.5', '"*" = { input'),
    (EVOLUTION, "evolution", 'seed_prompts = "Think, then answer."', 'seed_prompts = ["Think, then answer."]'),
    (EVOLUTION, "evolution", 'max_calls = "1,000"', "max_calls = 1000"),
    (MUTATION, "mutation", 'operators = "paraphrase"', 'operators = ["noop"'),
]
"""config, section, a wrong line in it, and how the hint begins"""

OPTIONS = [
    (PANEL, "simulation.entity_ids=ada,bob", 'simulation.entity_ids=["ada", "bob"]'),
    (PANEL, "simulation.judge=openness", "simulation.judge={ model"),
    (GAME, "secret_game.detection=exact,fuzzy", 'secret_game.detection=["exact", "fuzzy"]'),
    (GAME, "agent_ids=ada,bob", 'agent_ids=["ada", "bob"]'),
    (NO_AGENTS, "agents=ada,bob", 'agent_ids=["ada", "bob"]'),
    (NO_ENTITIES, "agents=ada,bob", 'simulation.entity_ids=["ada", "bob"]'),
    (NO_ENTITIES, 'entities=["ada", "bob"]', 'simulation.entity_ids=["ada", "bob"]'),
    (GAME, "agents=[1]", 'agents=[{ name = "Ada"'),
    (NO_AGENTS, "agents=3", 'agents=[{ name = "Ada"'),
    (GAME, "agents.Ada.secret=42", 'agents.Ada.secret="42"'),
    (GAME, "providers.ollama.hosts=http://a:1,http://b:1", 'providers.ollama.hosts=["http://a:1", "http://b:1"]'),
    (GAME, "design.factors=3", 'design.factors={ "agents.*.temperature" = [0.2, 1.0] }'),
    (PANEL, 'design.factors."simulation.n_turns"=3', 'design.factors."simulation.n_turns"=[3, 4]'),
    (GAME, 'design.factors."secret_game.mode"=standard', 'design.factors."agents.*.temperature"=[0.2, 1.0]'),
    (PANEL, 'design.factors={ "simulation.n_turns" = 3 }', 'design.factors."simulation.n_turns"=[3, 4]'),
    (GAME, 'providers.openai.prices={ "gpt-4o" = 3 }', "providers.openai.prices.gpt-4o={ input"),
    (GAME, "service.budget_usd=$5", "service.budget_usd=5"),
    (GAME, "service.cache=yes", "service.cache=true"),
    (GAME, "batch.name=2026", 'batch.name="2026"'),
    (
        EVOLUTION,
        "evolution.models=simulated:solver,simulated:b",
        'evolution.models=["simulated:solver", "simulated:b"]',
    ),
    (EVOLUTION, "evolution.labels=it's,no", 'evolution.labels=["it\'s", "no"]'),
    (MUTATION, "mutation.baselines=random,bandit", 'mutation.baselines=["random", "bandit"]'),
]
"""config, a value of --set, and how the hint begins"""


SECTIONS_AT_TOP = [
    (PANEL, '[judge]\nquestion = "?"', "Did you mean [simulation.judge]?"),
    (PANEL, '[[judge]]\nquestion = "?"', "Did you mean [simulation.judge]?"),
    (GAME, "[scoring]\nboth = 2", "Did you mean [secret_game.scoring]?"),
    (GAME, '[[scenarios]]\nopener_secret = "a"', "Did you mean [[secret_game.scenarios]]?"),
    (GAME, '[factors]\n"secret_game.mode" = ["standard"]', "Did you mean [design.factors]?"),
    (GAME, "[judge]\nmodel = 1", "judge is a key in [secret_game]."),
    (GAME, "[agent_id]\nname = 1", "Did you mean [[agents]]?"),
    (
        GAME,
        "[mood]\nrain = 1",
        "Sections are [batch], [service], [providers], [[agents]], [[entities]], [stop], [secret_game], [design], [cluster].",
    ),
]
"""config, an unknown section, and how its message ends"""


def message(text: str, folder: Path, *options: str) -> str:
    """What is wrong with the config; empty where it is accepted."""
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    try:
        config = load_config(path, options)
        if config.design is not None:
            plan_study(config, folder / "none.db")
    except UsageError as error:
        return str(error)
    return ""


def with_line(text: str, section: str, line: str) -> str:
    if not section:
        return f"{line}\n{text}"
    header = f"[{section}]\n"
    return text.replace(header, f"{header}{line}\n") if header in text else f"{text}\n{header}{line}\n"


@pytest.mark.parametrize(("text", "section", "wrong", "hint"), LINES, ids=[line for _, _, line, _ in LINES])
def test_a_suggested_line_is_accepted(text: str, section: str, wrong: str, hint: str, tmp_path: Path) -> None:
    said = message(with_line(text, section, wrong), tmp_path)
    assert "should be" not in said and "valid dictionary" not in said
    found = re.search(
        r"rite (\S+ = .+?)(?: in \[(\w+)\]| before the first section)?(?:, or (?:its keys|the keys of each) below \[(.+)\])?\.$",
        said,
    )
    assert found is not None and found[1].startswith(hint), said
    wrong_key, key = (line.partition(" = ")[0] for line in (wrong, found[1]))
    if key == "scale":
        fixed = with_line(text, section, f'judge = {{ question = "?", {found[1]} }}')
    else:
        assert found[2] or key in (wrong_key, "agent_ids", '"agents.*.temperature"')
        fixed = with_line(text, found[2] or section, found[1])
    assert message(fixed, tmp_path) == ""
    if found[3]:
        (tables,) = tomllib.loads(found[1]).values()
        for table in tables if isinstance(tables, list) else [tables]:
            keys = "\n".join(f"{name} = {format_value(one)}" for name, one in table.items())
            text += f"\n[{found[3]}]\n{keys}\n"
        assert message(text, tmp_path) == ""


@pytest.mark.parametrize(("text", "wrong", "hint"), OPTIONS, ids=[wrong for _, wrong, _ in OPTIONS])
def test_a_suggested_option_is_accepted(text: str, wrong: str, hint: str, tmp_path: Path) -> None:
    said = message(text, tmp_path, wrong)
    name, option = shlex.split(said[said.index("rite --set ") + 5 :].removesuffix("."))
    assert name == "--set" and option.startswith(hint) and ", line " not in said
    assert message(text, tmp_path, option) == ""


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("evolution.task=[a]", "evolution.task = \"[a]\": expected 'auto', 'number',"),
        ('evolution.task=["x"]', "evolution.task = [\"x\"]: expected 'auto', 'number',"),
        ("evolution.max_calls=true", "evolution.max_calls = true: expected a whole number."),
        ("evolution.problems={ min = 1 }", "evolution.problems = { min = 1 }: expected text."),
        ("evolution.problems=2026-11-17", "evolution.problems = 2026-11-17: expected text."),
    ],
)
def test_a_wrong_value_is_repeated_as_toml(option: str, words: str, tmp_path: Path) -> None:
    assert words in message(EVOLUTION, tmp_path, option)


@pytest.mark.parametrize(("text", "section", "hint"), SECTIONS_AT_TOP)
def test_an_unknown_section_is_answered_with_one_that_exists(
    text: str, section: str, hint: str, tmp_path: Path
) -> None:
    said = message(f"{text}\n{section}\n", tmp_path)
    assert "unknown section [" in said and said.endswith(hint)


WRONG_VALUES: list[Any] = ["ada", "a,b", "1,5", "yes", 7, 1.5, True, ["ada"], [7], {"a": 1}, [{"a": 1}]]
SECTIONS: list[tuple[str, str, type[BaseModel]]] = [
    (GAME, "batch", Batch),
    (GAME, "service", Service),
    (GAME, "providers.openai", ProviderSettings),
    (GAME, "providers.ollama", OllamaSettings),
    (GAME, "secret_game", load_kind("secret_game").settings()),
    (NO_ENTITIES.replace("context =", "# context ="), "simulation", load_kind("simulation").settings()),
    (EVOLUTION.replace("elite_size = 2", "choose_problems = 5"), "evolution", load_kind("evolution").settings()),
    (MUTATION, "mutation", load_kind("mutation").settings()),
]


def hinted_lines(text: str, section: str, key: str) -> Iterator[tuple[str, str]]:
    """Every line that is suggested for a wrong value of the key, with the message."""
    for value in WRONG_VALUES:
        data = tomllib.loads(text)
        inner = section_of(data, section)
        inner[key] = value
        try:
            config_from(data)
        except UsageError as error:
            if found := re.search(rf"rite ({key} = .+?)(?:, or its keys below \[.+\])?\.(?: |$)", str(error)):
                yield found[1], str(error)


def section_of(data: dict[str, Any], path: str) -> dict[str, Any]:
    for part in path.split("."):
        data = data.setdefault(part, {})
    return data


@pytest.mark.parametrize(("text", "section", "model"), SECTIONS, ids=[section for _, section, _ in SECTIONS])
def test_whatever_is_suggested_for_a_key_is_accepted(text: str, section: str, model: type[BaseModel]) -> None:
    count = 0
    for key in model.model_fields:
        for line, said in hinted_lines(text, section, key):
            data = tomllib.loads(text)
            section_of(data, section).update(tomllib.loads(line))
            try:
                config_from(data)
            except UsageError as error:
                pytest.fail(f"{said}\n{error}")
            count += 1
    assert count > 10


@pytest.mark.parametrize("line", ['max_calls = "{}"', 'seed_prompts = "{}"'])
def test_a_value_of_thousands_of_digits_is_refused_in_a_short_sentence(line: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(EVOLUTION.replace("[evolution]", f"[evolution]\n{line.format(5_000 * '9')}"))
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert "99999" in str(caught.value) and len(str(caught.value)) < 500
