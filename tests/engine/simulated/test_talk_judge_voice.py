from statistics import mean

import pytest

from tidepool.engine.answer_forms import read_rating
from tidepool.engine.call import seed_of
from tidepool.engine.config.entity_types import built_in_types, generate
from tidepool.engine.simulated.simulation import JUDGE, STEPS, judge_conversation, speak_as_persona
from tidepool.engine.studies.simulation.casting import combinations
from tidepool.engine.studies.simulation.prompts import ScenePrompt, Setting, SpokenLine, enact, judgement, transcript


def asked(said: str, scale: tuple[float, float] = (1, 5)) -> ScenePrompt:
    talk = [SpokenLine("Ada", said), SpokenLine("Li", "I cannot accept this.")]
    return judgement("Does the speaker agree?", scale, "A mill", "Ada", transcript(talk))


def ratings(prompt: ScenePrompt, scale: tuple[float, float] = (1, 5)) -> list[float]:
    found = [read_rating(judge_conversation("judge", *prompt, seed).text, scale) for seed in range(400)]
    return [rating for rating in found if rating is not None]


@pytest.mark.parametrize("step", range(5))
def test_it_rates_the_speakers_own_words_and_errs_one_time_in_eight(step: int) -> None:
    found = ratings(asked(f"{STEPS[step][0]} this."))
    assert len(found) == 400
    assert 330 <= found.count(step + 1) < 400
    assert max(found) - min(found) <= 2


@pytest.mark.parametrize("scale", [(0, 10), (-2, 2), (0.0, 1.0), (1, 7)])
def test_it_keeps_to_the_scale(scale: tuple[float, float]) -> None:
    good, bad = (ratings(asked(f"{phrase} this.", scale), scale) for phrase in ("I gladly support", "I cannot accept"))
    assert all(scale[0] <= rating <= scale[1] for rating in good + bad)
    assert mean(bad) < sum(scale) / 2 < mean(good)


def test_it_knows_the_prompts_that_are_its_own() -> None:
    assert JUDGE.recognises(asked("Hm.").system)
    assert not JUDGE.recognises("You are Ada. Speak as Ada.\nThe situation: x")


def test_offline_the_agreeable_are_rated_as_agreeing_more() -> None:
    people = generate(built_in_types()["human"], 60, 1)
    setting = Setting("Should the town close its centre to cars?")
    low: list[float] = []
    high: list[float] = []
    for combination in combinations(60, 2, 120, 1):
        pair = [people[member] for member in combination.members]
        talk: list[SpokenLine] = []
        for entity, partner in (pair, pair[::-1]):
            seed = seed_of(1, combination.sequence_number, entity.name)
            prompt = enact(entity, [partner.name], setting, talk)
            talk.append(SpokenLine(entity.name, speak_as_persona("persona", *prompt, seed).text))
        for entity in pair:
            prompt = judgement("Agree?", (1, 5), setting.context, entity.name, transcript(talk))
            rating = read_rating(
                judge_conversation("judge", *prompt, seed_of(2, combination.sequence_number)).text, (1, 5)
            )
            assert rating is not None
            (high if int(entity.attributes["agreeableness"]) > 5 else low).append(rating)
    assert mean(high) - mean(low) > 0.8
