"""Fields of a form, from the sections of a config."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.kinds import KINDS, load_kind
from tidepool.tui.app.compose.fields import UNSET, Form, fields_of, read, shown
from tidepool.tui.app.compose.outline import pages_of

CASES: list[tuple[Form, str, Any]] = [
    (Form.WORD, "", UNSET),
    (Form.WORD, "  ", UNSET),
    (Form.WORD, "42", "42"),
    (Form.WORD, "[/foo]", "[/foo]"),
    (Form.MODEL, " simulated:guarded ", "simulated:guarded"),
    (Form.WHOLE, "42", 42),
    (Form.WHOLE, "1_000", 1000),
    (Form.WHOLE, "1.5", 1.5),
    (Form.WHOLE, "many", "many"),
    (Form.WHOLE, "true", "true"),
    (Form.NUMBER, "3e-4", 3e-4),
    (Form.NUMBER, "nan", "nan"),
    (Form.NUMBER, "1\nkey = 2", "1\nkey = 2"),
    (Form.NUMBERS, "1, 5", [1, 5]),
    (Form.NUMBERS, "1, x", [1, "x"]),
    (Form.LINES, "one\n\n two ", ["one", "two"]),
    (Form.TABLE, 'age = 45\nmood = "mild"', {"age": 45, "mood": "mild"}),
    (Form.TABLE, "age 45", "age 45"),
    (Form.RECORDS, '{ a = "x" }\n{ a = "y" }', [{"a": "x"}, {"a": "y"}]),
    (Form.RECORDS, "{ a = ", ["{ a ="]),
]


@pytest.mark.parametrize(("form", "text", "value"), CASES)
def test_a_text_is_read_as_its_form_or_kept_as_text(form: Form, text: str, value: Any) -> None:
    assert read(form, text) == value


@settings(deadline=None)
@given(st.sampled_from(list(Form)), st.text())
def test_any_text_is_read_and_what_is_shown_for_it_reads_the_same(form: Form, text: str) -> None:
    value = read(form, text)
    assert read(form, shown(form, value)) == value


VALUES = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text())


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1))
def test_a_table_survives_being_shown(table: dict[str, Any]) -> None:
    assert read(Form.TABLE, shown(Form.TABLE, table)) == table


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_of_a_kind_is_missing_on_its_pages_and_none_is_there_twice(kind: str) -> None:
    placed = [field.path for page in pages_of(kind) for group in page.groups for field in group.fields]
    assert len(set(placed)) == len(placed)
    own = {field.path for field in fields_of(load_kind(kind).settings, (kind,), load_kind(kind).filled_in)}
    assert own - set(placed) <= {("simulation", "entity_ids"), ("simulation", "entity_file")}
