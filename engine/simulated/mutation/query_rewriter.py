"""The simulated mutator: applies an operator's instruction to the words of a query, by rule.

Its rewritings can be read in a transcript, keep the topic's words, and leave the marks by which a reader,
such as the simulated target, can see how a query is phrased. Rarely it answers with nothing of use, as real
models do.
"""

import re
from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.mutation.phrasing import ADDITIONS, FUNCTION_WORDS, UNDOES, words_of
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.studies.mutation.operators import OPERATORS, REWRITER_SYSTEM

_BY_INSTRUCTION = {operator.instruction: operator.name for operator in OPERATORS if operator.instruction}
_QUERY = re.compile(r"<query>(.*)</query>", re.DOTALL)
_ONE_IN = 200
"""how rarely it fails to rewrite"""


def recognises(system: str) -> bool:
    """Whether a prompt is one for rewriting a query: `rewriter` also serves the evolution of prompts."""
    return system == REWRITER_SYSTEM


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    instruction, _, rest = messages[-1].text.partition("\n")
    operator = _BY_INSTRUCTION.get(instruction)
    tagged = _QUERY.search(rest)
    if operator is None or tagged is None:
        return SimulatedReply("I can only rewrite a question given between <query> and </query>.", "not understood")
    if seed % _ONE_IN == 0:
        return SimulatedReply("I'm sorry, I am not sure how to put that.", "failed")
    return SimulatedReply(f"<query>{_rewritten(operator, tagged.group(1), seed)}</query>", operator)


def _rewritten(operator: str, query: str, seed: int) -> str:
    if operator == "shorten":
        return _telegram(query)
    for undone in UNDOES.get(operator, ()):
        query = _without(undone, query)
    variants = ADDITIONS[operator]
    if any(added.before in query and added.after in query for added in variants):
        return query
    added = variants[seed % len(variants)]
    return f"{added.before}{query}{added.after}"


def _without(operator: str, query: str) -> str:
    for added in ADDITIONS[operator]:
        query = query.replace(added.before, "") if added.before else query.replace(added.after, "")
    return query


def _telegram(query: str) -> str:
    """The key words alone: no function words, and nothing that an earlier rewriting put in."""
    for operator in ADDITIONS:
        query = _without(operator, query)
    kept = [word for word in words_of(query) if word not in FUNCTION_WORDS]
    return " ".join(kept) + "?" if kept else query
