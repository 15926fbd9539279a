import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.call import stream
from tidepool.engine.config.entities import Attribute
from tidepool.engine.config.entity_types import (
    BooleanDimension,
    CategoricalDimension,
    Dimension,
    EntityType,
    NumberDimension,
    TextDimension,
    WritingTask,
    built_in_types,
    entity_type_from,
    fill,
    generate,
    types_of_file,
    with_texts,
    writing_tasks,
)
from tidepool.engine.errors import UsageError


def draws(dimension: Dimension, n: int = 2000) -> list[Attribute]:
    return [value for i in range(n) if (value := dimension.draw(stream(1, i), {})) is not None]


def test_a_boolean_is_true_for_its_share() -> None:
    assert draws(BooleanDimension(name="b", share=0.3)).count(True) == pytest.approx(600, abs=70)
    assert set(draws(BooleanDimension(name="b", share=1.0))) == {True}


def test_categories_come_by_their_weights() -> None:
    drawn = draws(CategoricalDimension(name="c", options=["often", "seldom", "never"], weights=[3, 1, 0]))
    assert drawn.count("often") == pytest.approx(1500, abs=80)
    assert "never" not in drawn


@given(
    st.integers(-50, 50),
    st.integers(0, 30),
    st.booleans(),
    st.sampled_from(["uniform", "normal", "skewed"]),
    st.integers(),
)
def test_a_number_stays_in_its_range(low: int, width: int, whole: bool, spread: str, seed: int) -> None:
    kind = "int" if whole else "float"
    dimension = NumberDimension(name="n", kind=kind, range=[low, low + width], spread=spread)  # type: ignore[arg-type]
    assert low <= dimension.draw(stream(seed), {}) <= low + width


def test_a_template_is_filled_without_running_anything() -> None:
    assert fill("{name}, {age}: {age.__class__} {0}", {"name": "{age}", "age": 3}) == "{age}, 3: {age.__class__} {0}"


@pytest.mark.parametrize("name", ["human", "fantasy_character", "organisation"])
def test_built_in_entities_are_complete_named_apart_and_readable(name: str) -> None:
    kind = built_in_types()[name]
    entities = generate(kind, 3000, 1)
    assert len({entity.name.casefold() for entity in entities}) == 3000
    assert all(set(entity.attributes) == {d.name for d in kind.dimensions} for entity in entities)
    assert not any("{" in entity.description for entity in entities)
    assert all(entity.name in entity.description for entity in entities)


def test_the_seed_decides_and_more_entities_begin_with_the_same_ones() -> None:
    human = built_in_types()["human"]
    assert generate(human, 20, 1) == generate(human, 50, 1)[:20]
    assert generate(human, 20, 1) != generate(human, 20, 2)


def test_names_go_on_when_all_pairs_are_used() -> None:
    kind = EntityType(
        name="robot",
        dimensions=[BooleanDimension(name="b")],
        first_names=["Ax", "Bo"],
        last_names=["One", "Two", "Three"],
    )
    names = [entity.name for entity in generate(kind, 20, 1)]
    assert len(set(names)) == 20
    assert sum(name.endswith(" 2") for name in names) == 6


def test_texts_for_a_model_are_left_open_and_filled_in_when_written() -> None:
    kind = EntityType(
        name="sailor",
        dimensions=[
            NumberDimension(name="age", range=[30, 30]),
            TextDimension(name="tale", prompt="A tale of {name}, aged {age}."),
        ],
        portrait="{name} tells: {tale}",
    )
    (sailor,) = generate(kind, 1, 1)
    assert sailor.attributes == {"age": 30}
    assert writing_tasks(kind, sailor) == [WritingTask("tale", "A tale of Sailor 1, aged 30.")]
    told = with_texts(kind, sailor, {"tale": "a storm"})
    assert told.description == "Sailor 1 tells: a storm"
    assert writing_tasks(kind, told) == []


def read_types(path: Path) -> list[EntityType]:
    return [entity_type_from(stored.definition, stored.name) for stored in types_of_file(path) or ()]


def test_the_type_in_the_documentation_can_be_used_as_it_stands(tmp_path: Path) -> None:
    documentation = Path(__file__).parents[4] / "docs" / "entities.md"
    path = tmp_path / "villager.toml"
    path.write_text(documentation.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0])
    (villager,) = read_types(path)
    first = generate(villager, 7, 1)[0]
    assert first.description == f"{first.name} is a {first.attributes['trade']}. {first.attributes['motto']}"
    assert [task.dimension for task in writing_tasks(villager, first)] == ["childhood"]


def test_a_json_file_holds_several_types_each_once(tmp_path: Path) -> None:
    record = {"name": "owl", "dimensions": [{"name": "wise", "kind": "boolean"}]}
    path = tmp_path / "types.json"
    path.write_text(json.dumps({"entity_types": [record, record | {"name": "fox"}]}))
    assert [kind.name for kind in read_types(path)] == ["owl", "fox"]
    path.write_text(json.dumps({"entity_types": [record, record]}))
    with pytest.raises(UsageError, match="'owl' appears twice"):
        read_types(path)


def one(**dimension: object) -> dict[str, object]:
    return {"name": "t", "dimensions": [{"name": "d", **dimension}]}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"dimensions": []}, "name is missing"),
        ({"name": "t"}, "at least one dimension"),
        ({"name": "t", "dimension": []}, "unknown key dimension. Did you mean 'dimensions'?"),
        (one(), "dimensions[0] = { name = \"d\" }: the 'kind' is missing"),
        (one(kind="colour"), "the 'kind' must be one of 'boolean', 'categorical', 'int', 'float', 'text'"),
        (one(kind="boolean", share=2), "share = 2: must be at most 1"),
        (one(kind="boolean", range=[1, 2]), "unknown key dimensions[0].boolean.range"),
        (one(kind="categorical", options=["a"], weights=[1, 2]), "one weight for each"),
        (one(kind="categorical", options={"a": 0}), "not all weights may be 0"),
        (one(kind="int", range=[5, 1]), "range: write [lowest, highest]"),
        (one(kind="int", range=[0, 9], spread="flat"), "expected 'uniform', 'normal' or 'skewed'"),
        (one(kind="int", range=[0, 9], spread="normal", mean=12), "mean: expected a number from 0 to 9"),
        (one(kind="text"), "set exactly one of options"),
        (one(kind="text", template="{age}"), "{age} is neither the name nor a dimension listed before it"),
        (one(kind="boolean") | {"portrait": "{age}"}, "portrait: {age} is neither"),
        (one(kind="boolean") | {"first_names": ["A b"]}, "'A b' must be a single word and appear only once"),
        ({"name": "t", "dimensions": [{"name": "name", "kind": "boolean"}]}, "the name 'name' is already used"),
    ],
)
def test_a_wrong_type_is_refused_with_the_place_and_the_reason(record: object, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        entity_type_from(record, "t.toml, type 1")
    assert str(refused.value).startswith("t.toml, type 1")
    assert words in str(refused.value)
