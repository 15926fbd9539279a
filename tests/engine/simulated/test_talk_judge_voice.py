import pytest

from tidepool.engine.answer_forms import read_rating
from tidepool.engine.simulated.simulation import STEPS, judge_conversation
from tidepool.engine.studies.simulation.prompts import SpokenLine, judgement, transcript


@pytest.mark.parametrize("step", range(5))
def test_it_rates_the_speakers_own_words_and_errs_one_time_in_eight(step: int) -> None:
    talk = [SpokenLine("Ada", f"{STEPS[step][0]} this."), SpokenLine("Li", "I cannot accept this.")]
    prompt = judgement("Does the speaker agree?", (1, 5), "A mill", "Ada", transcript(talk))
    read = [read_rating(judge_conversation("judge", *prompt, seed).text, (1, 5)) for seed in range(400)]
    found = [rating for rating in read if rating is not None]
    assert len(found) == 400
    assert 330 <= found.count(step + 1) < 400
    assert max(found) - min(found) <= 2
