import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.answer_forms import read_rating
from tidepool.engine.call import Message
from tidepool.engine.config.entities import Entity
from tidepool.engine.simulated.simulation import STEPS, judge_conversation, speak_as_persona
from tidepool.engine.studies.simulation.prompts import (
    ScenePrompt,
    Setting,
    SpokenLine,
    enact,
    judgement,
    narrate,
    split_scene,
    transcript,
)

SETTING = Setting("Should the harbour be closed to tankers?")


def said(prompt: ScenePrompt, seed: int = 1) -> str:
    return speak_as_persona("persona", prompt.system, prompt.messages, seed).text


def stance_of(entity: Entity, talk: list[SpokenLine], seed: int) -> float:
    spoken = speak_as_persona("persona", *enact(entity, ["Li"], SETTING, talk), seed)
    assert spoken.truth is not None
    return float(spoken.truth.removeprefix("stance "))


def mean_stance(talk: list[SpokenLine] | None = None, **attributes: int) -> float:
    entity = Entity("Ada", "", attributes)
    return sum(stance_of(entity, talk or [], seed) for seed in range(200)) / 200


@pytest.mark.parametrize(("trait", "sign"), [("agreeableness", 1), ("openness", 1), ("neuroticism", -1)])
def test_traits_move_the_stance_as_documented(trait: str, sign: int) -> None:
    assert sign * (mean_stance(**{trait: 9}) - mean_stance(**{trait: 2})) > 0.3


def test_agreeable_speakers_are_moved_by_what_they_hear() -> None:
    pleased, cross = [SpokenLine("Li", "I gladly support this.")], [SpokenLine("Li", "I cannot accept this.")]
    assert mean_stance(pleased, agreeableness=6) - mean_stance(cross, agreeableness=6) == pytest.approx(0.36, abs=0.05)


@pytest.mark.parametrize("thoughts", [False, True])
def test_a_narrated_scene_splits_into_every_message_in_order(thoughts: bool) -> None:
    cast = [Entity("Ada"), Entity("Bob", "A miller", {"age": 70}), Entity("Li")]
    names = [entity.name for entity in cast]
    prompt = narrate(cast, Setting("The harbour", thoughts=thoughts), 2)
    scene = said(prompt)
    speeches = split_scene(scene, names, thoughts)
    assert [speech.speaker for speech in speeches] == names * 2
    assert all((speech.thought is not None) is thoughts for speech in speeches)
    further = narrate(cast, Setting("The harbour", thoughts=thoughts), 2, [scene])
    assert said(further) != scene
    assert len(split_scene(said(further), names, thoughts)) == 6


@given(st.text(max_size=80), st.text(max_size=80), st.integers())
def test_any_prompt_is_answered(system: str, text: str, seed: int) -> None:
    for opening in ("", "You are X. Speak as X\n- openness: 9..9\nThe situation: "):
        assert speak_as_persona("persona", opening + system, [Message("user", text)], seed).text


# -- the judge ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(5))
def test_it_rates_the_speakers_own_words_and_errs_one_time_in_eight(step: int) -> None:
    talk = [SpokenLine("Ada", f"{STEPS[step][0]} this."), SpokenLine("Li", "I cannot accept this.")]
    prompt = judgement("Does the speaker agree?", (1, 5), "A mill", "Ada", transcript(talk))
    read = [read_rating(judge_conversation("judge", *prompt, seed).text, (1, 5)) for seed in range(400)]
    found = [rating for rating in read if rating is not None]
    assert len(found) == 400
    assert 330 <= found.count(step + 1) < 400
    assert max(found) - min(found) <= 2
