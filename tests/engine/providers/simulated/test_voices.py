import pytest

from tidepool.engine.call import Call, Message
from tidepool.engine.providers.simulated.responders import responder_for
from tidepool.engine.studies.evolution.rewrites import SYSTEM as PROMPT_SYSTEM
from tidepool.engine.studies.evolution.rewrites import TASKS
from tidepool.engine.studies.mutation.operators import BY_NAME, rewrite_prompt
from tidepool.engine.studies.mutation.rewards import judge_prompt
from tidepool.engine.studies.simulation.prompts import judgement


def _said(model: str, system: str, text: str) -> str:
    call = Call("t1", 1, f"simulated:{model}", (Message("user", text),), system)
    return responder_for(call)(call, 7).text


def test_the_rewriter_rewrites_queries_for_a_mutation_and_prompts_for_an_evolution() -> None:
    query = rewrite_prompt(BY_NAME["simplify"], "Why is the sky blue?")
    assert "sky blue" in _said("rewriter", query.system, query.messages[0].text)
    asked = f"{TASKS['rephrase']}\n\n<prompt>\nWork step by step. Check it.\n</prompt>"
    assert _said("rewriter", PROMPT_SYSTEM, asked).startswith("<prompt>")


def test_the_judge_grades_answers_for_a_mutation_and_rates_talk_for_a_simulation() -> None:
    grading = judge_prompt("Why is the sky blue?", "Air scatters blue light.", "Air scatters blue light.")
    assert _said("judge", grading.system, grading.messages[0].text) == "SCORE: 10"
    rating = judgement("Do they agree, 1 to 5?", (1, 5), "A panel", "Ada: Yes, I agree.", "Ada")
    assert _said("judge", rating.system, rating.messages[0].text).startswith("Rating: ")


@pytest.mark.parametrize("name", ["rewriter", "judge"])
def test_a_shared_name_answers_also_what_none_of_its_voices_recognises(name: str) -> None:
    assert _said(name, "You are a pirate.", "Hello?")
