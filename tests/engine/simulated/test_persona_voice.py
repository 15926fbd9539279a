from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.call import Message
from tidepool.engine.library.entities import Entity
from tidepool.engine.simulated.simulation.persona import recognises, speak
from tidepool.engine.simulated.simulation.stances import STEPS, heard_stance, step_of
from tidepool.engine.studies.simulation.prompts import (
    ScenePrompt,
    Setting,
    SpokenLine,
    backstory,
    enacted,
    judgement,
    narrated,
    split_reply,
    split_scene,
)

SETTING = Setting("Should the harbour be closed to tankers?")


def said(prompt: ScenePrompt, seed: int = 1) -> str:
    return speak("persona", prompt.system, prompt.messages, seed).text


def stance_of(entity: Entity, talk: list[SpokenLine], seed: int) -> float:
    spoken = speak("persona", *enacted(entity, ["Li"], SETTING, talk), seed)
    assert spoken.truth is not None
    return float(spoken.truth.removeprefix("stance "))


def mean_stance(talk: list[SpokenLine] | None = None, **attributes: int) -> float:
    entity = Entity("Ada", "", attributes)
    return sum(stance_of(entity, talk or [], seed) for seed in range(200)) / 200


def test_it_says_the_same_to_the_same_seed_and_varies_otherwise() -> None:
    prompt = enacted(Entity("Ada"), ["Li"], SETTING, [])
    assert said(prompt, 5) == said(prompt, 5)
    assert len({said(prompt, seed) for seed in range(100)}) > 80


def test_it_speaks_of_the_situation() -> None:
    texts = " ".join(said(enacted(Entity("Ada"), ["Li"], SETTING, []), seed) for seed in range(20))
    assert "harbour" in texts
    assert "tankers" in texts


def test_it_answers_whoever_spoke_last() -> None:
    talk = [SpokenLine("Bob", "The lighthouse matters."), SpokenLine("Li", "I gladly support the fishermen.")]
    text = said(enacted(Entity("Ada"), ["Bob", "Li"], SETTING, talk))
    assert "Li" in text
    assert any(word in text for word in ("gladly", "support"))


@pytest.mark.parametrize(("trait", "sign"), [("agreeableness", 1), ("openness", 1), ("neuroticism", -1)])
def test_traits_move_the_stance_as_documented(trait: str, sign: int) -> None:
    assert sign * (mean_stance(**{trait: 9}) - mean_stance(**{trait: 2})) > 0.3


def test_agreeable_speakers_are_moved_by_what_they_hear() -> None:
    pleased, cross = [SpokenLine("Li", "I gladly support this.")], [SpokenLine("Li", "I cannot accept this.")]
    assert mean_stance(pleased, agreeableness=6) - mean_stance(cross, agreeableness=6) == pytest.approx(0.36, abs=0.05)


def test_extraverts_talk_more() -> None:
    def words(extraversion: int) -> int:
        entity = Entity("Ada", "", {"extraversion": extraversion})
        return sum(len(said(enacted(entity, ["Li"], SETTING, []), seed).split()) for seed in range(200))

    assert words(10) > words(1) * 1.1


def test_the_stance_is_spoken_in_its_own_phrase() -> None:
    for seed in range(50):
        spoken = speak("persona", *enacted(Entity("Ada", "", {"openness": seed % 10}), ["Li"], SETTING, []), seed)
        stance = float(str(spoken.truth).removeprefix("stance "))
        if all(abs(stance - edge) > 0.01 for edge in (-0.6, -0.2, 0.2, 0.6)):
            assert any(phrase in spoken.text for phrase in STEPS[step_of(stance)])


def test_with_thoughts_each_message_opens_with_one() -> None:
    text = said(enacted(Entity("Ada"), ["Li"], Setting("The harbour", thoughts=True), []))
    speech = split_reply(text, "Ada", ["Li"], thoughts=True)
    assert speech.thought is not None
    assert "*" not in speech.text.of(text)
    assert "*" not in said(enacted(Entity("Ada"), ["Li"], SETTING, []))


@pytest.mark.parametrize("thoughts", [False, True])
def test_a_narrated_scene_splits_into_every_message_in_order(thoughts: bool) -> None:
    cast = [Entity("Ada"), Entity("Bob", "A miller", {"age": 70}), Entity("Li")]
    names = [entity.name for entity in cast]
    prompt = narrated(cast, Setting("The harbour", thoughts=thoughts), 2)
    scene = said(prompt)
    speeches = split_scene(scene, names, thoughts)
    assert [speech.speaker for speech in speeches] == names * 2
    assert all((speech.thought is not None) is thoughts for speech in speeches)
    further = narrated(cast, Setting("The harbour", thoughts=thoughts), 2, [scene])
    assert said(further) != scene
    assert len(split_scene(said(further), names, thoughts)) == 6


def test_a_monologue_goes_on() -> None:
    first = said(enacted(Entity("Ada"), [], SETTING, []))
    second = said(enacted(Entity("Ada"), [], SETTING, [SpokenLine("Ada", first)]))
    assert first
    assert second != first


def test_it_writes_backstories() -> None:
    assert "Ada" in said(backstory(Entity("Ada", "A countess")))


def test_it_knows_the_prompts_that_are_its_own() -> None:
    own = [
        enacted(Entity("Ada"), ["Li"], SETTING, []),
        narrated([Entity("Ada")], SETTING, 1),
        backstory(Entity("Ada")),
    ]
    assert all(recognises(prompt.system) for prompt in own)
    assert not recognises(judgement("Q?", (1, 5), "x", "Ada", "Ada: Hi.").system)


@given(st.text(max_size=80), st.text(max_size=80), st.integers())
def test_any_prompt_is_answered(system: str, text: str, seed: int) -> None:
    for opening in ("", "You are X. Speak as X\n- openness: 9..9\nThe situation: "):
        assert speak("persona", opening + system, [Message("user", text)], seed).text


def test_every_phrase_is_read_as_what_it_means() -> None:
    for step, phrases in enumerate(STEPS):
        for phrase in phrases:
            assert heard_stance(f"Well. {phrase} this.") == step / 2 - 1
            assert step_of(step / 2 - 1) == step
    starts = [phrase[:9] for phrases in STEPS for phrase in phrases]
    assert all(one != other for one, other in combinations(starts, 2))


@pytest.mark.parametrize(
    ("text", "stance"),
    [("Yes, I agree, a good idea.", 1), ("I disagree and doubt it.", -1), ("The sky is blue.", None)],
)
def test_other_words_are_weighed_for_and_against(text: str, stance: float | None) -> None:
    assert heard_stance(text) == stance
