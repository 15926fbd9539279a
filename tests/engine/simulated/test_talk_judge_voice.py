from statistics import mean

import pytest

from tidepool.engine.answer_forms import read_rating
from tidepool.engine.simulated.simulation import STEPS, judge_conversation
from tidepool.engine.studies.simulation.prompts import ScenePrompt, SpokenLine, judgement, transcript


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
