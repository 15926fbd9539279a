import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.simulation.prompts import (
    Speech,
    SpokenLine,
    join_lines,
    split_reply,
    split_scene,
    without_thoughts,
)

CAST = ("Ada Byron", "Bob Stone", "Li")


def lines_of(source: str, speeches: list[Speech]) -> list[tuple[str, str | None, str]]:
    return [(s.speaker, s.thought and s.thought.of(source), s.text.of(source)) for s in speeches]


def scene(source: str, thoughts: bool = False) -> list[tuple[str, str | None, str]]:
    return lines_of(source, split_scene(source, CAST, thoughts))


@pytest.mark.parametrize(
    "tag",
    [
        "Li:", "LI:", "**Li:**", "**Li**:", "__Li__ :", "- Li:", "> Li:", "### Li:", "1. Li:", "  Li :",
        "Li (smiling):", "**Li (smiling):**", "**Li** [softly]:", "Li：", "*Li:*",
    ],
)  # fmt: skip
def test_a_speaker_is_found_however_the_tag_is_written(tag: str) -> None:
    assert scene(f"{tag} Good morning.\n\nBob Stone: Hm.") == [
        ("Li", None, "Good morning."),
        ("Bob Stone", None, "Hm."),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", []),
        ("Nobody says a word.", []),
        ("A title\n\nLi: Yes.", [("Li", None, "Yes.")]),
        ("Ada: Hello.\nBob: Hi.", [("Ada Byron", None, "Hello."), ("Bob Stone", None, "Hi.")]),
        ("Li: One.\n\nTwo.\n\nThree.", [("Li", None, "One.\n\nTwo.\n\nThree.")]),
        ("Li: I told Bob: no.", [("Li", None, "I told Bob: no.")]),
        ("Lily: Who am I?\nLi: Me.", [("Li", None, "Me.")]),
        ("Li:\nOn the next line.", [("Li", None, "On the next line.")]),
        ("Li:\n\nBob Stone: Hm.", [("Bob Stone", None, "Hm.")]),
        ("Li: a\nLi: b", [("Li", None, "a"), ("Li", None, "b")]),
        ("Li: *nods* Yes.", [("Li", None, "*nods* Yes.")]),
    ],
)
def test_a_scene_is_split_by_speaker(source: str, expected: list[tuple[str, str | None, str]]) -> None:
    assert scene(source) == expected


def test_a_first_name_borne_by_two_names_nobody() -> None:
    source = "Ada: Which of us?\nAda Lowe: Me."
    assert lines_of(source, split_scene(source, ("Ada Byron", "Ada Lowe"))) == [("Ada Lowe", None, "Me.")]


@pytest.mark.parametrize(
    ("reply", "thought", "text"),
    [
        ("*He lies.* Of course.", "He lies.", "Of course."),
        ("**He lies.** Of course.", "He lies.", "Of course."),
        ("* He lies. *\n\nOf course.", "He lies.", "Of course."),
        ("*He lies.* *I know it.* Of course.", "He lies.* *I know it.", "Of course."),
        ("Ada Byron: *He lies.* Of course.", "He lies.", "Of course."),
        ("Ada Byron:*He lies.* Of course.", "He lies.", "Of course."),
        ("**Ada:** *He lies.* Of course.", "He lies.", "Of course."),
        ("*He lies.*", "He lies.", ""),
        ("*He lies, I know it", "He lies, I know it", ""),
        ("*He lies, I know it\n\nOf course.", "He lies, I know it", "Of course."),
        ("Of *course*.", None, "Of *course*."),
        ("Of course.", None, "Of course."),
        ("", None, ""),
        ("***", None, "***"),
    ],
)
def test_a_reply_is_split_into_thought_and_speech(reply: str, thought: str | None, text: str) -> None:
    speech = split_reply(reply, "Ada Byron", ("Bob Stone",), thoughts=True)
    assert lines_of(reply, [speech]) == [("Ada Byron", thought, text)]


def test_without_thoughts_asterisks_are_part_of_what_is_said() -> None:
    reply = "*waves* Hello."
    assert split_reply(reply, "Li", ()).text.of(reply) == reply


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes.\n\nBob Stone: I agree.\n\nLi: Me too.", "Yes."),
        ("Ada Byron: Yes.\nBob: I agree.", "Yes."),
        ("I said to Bob: yes.", "I said to Bob: yes."),
        ("Bob: I agree.", "Bob: I agree."),
        ("Bob, I agree: yes.", "Bob, I agree: yes."),
        ("Ada:\nBob: I agree.\nBob Stone: Good.", "Bob: I agree."),
        ("Bob: I agree.\n\nLi: Me too.", "Bob: I agree."),
        ("Bob: You said this.\n\nAda: I did.\nLi: Ha.", "I did."),
    ],
)
def test_an_entity_does_not_speak_for_others_but_may_address_them(reply: str, said: str) -> None:
    assert split_reply(reply, "Ada Byron", ("Bob Stone", "Li")).text.of(reply) == said


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("Yes. *I hate all this.* Gladly.", "Yes.  Gladly."),
        ("That is *very* good.", "That is *very* good."),
        ("2 * 3 * 4 is 24", "2 * 3 * 4 is 24"),
        ("*all of it a thought*", ""),
    ],
)
def test_thoughts_in_the_middle_are_not_heard(text: str, heard: str) -> None:
    assert without_thoughts(text) == heard


_messy = st.text(alphabet="LiBobAda Stone:*_#->\n()[]. xy", max_size=120)


@given(_messy, st.booleans())
def test_any_text_is_split_into_spans_in_order_that_do_not_overlap(source: str, thoughts: bool) -> None:
    end = 0
    for speech in split_scene(source, CAST, thoughts):
        for span in filter(None, (speech.thought, speech.text)):
            assert end <= span.start <= span.end <= len(source)
            assert span.of(source) == span.of(source).strip()
            end = span.end


_words = st.text(alphabet="abc déf.,!?“”\n", min_size=1, max_size=40).map(str.strip).filter(bool)
_lines = st.builds(SpokenLine, st.sampled_from(CAST), _words, st.none() | _words)


@given(st.lists(_lines, max_size=8))
def test_joined_content_can_be_taken_apart_again(lines: list[SpokenLine]) -> None:
    content = join_lines(lines)
    assert [SpokenLine(name, text, thought) for name, thought, text in scene(content, thoughts=True)] == lines
