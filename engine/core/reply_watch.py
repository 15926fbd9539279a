"""Watches replies that are not what a study hopes for, and says so while something can still be done about it."""

from collections import Counter

from tidepool.engine.call import Call
from tidepool.engine.core.context import RunContext
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.providers.replies import words_of
from tidepool.storage.states import FinishReason

FEW = 0.03
"""share of replies that may be cut without a word"""
LEAST = 2
"""cut replies before a share is one"""


class ReplyWatch:
    """Tells each kind of trouble once for each model; the batch's counters keep the rest."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._cut: Counter[tuple[str, str]] = Counter()
        self._told: set[tuple[str, str]] = set()

    def odd(self, call: Call, answer: Answer) -> None:
        """A reply that is cut or no answer, or whose usage cannot be believed."""
        if answer.usage_missing:
            words = "came without believable usage: such replies are counted at the most that they can have cost"
            self._tell(call, "usage", f"A reply of {call.model} {words}.")
        if answer.usable and answer.finish is FinishReason.CUT:
            self._count_cut(call)
        elif not answer.usable:
            words = (
                f"A reply of {call.model} is no answer ({words_of(answer)}): it is paid for, and its call is missing."
            )
            self._tell(call, str(answer.finish), words)

    def _count_cut(self, call: Call) -> None:
        kind = (call.model, call.form)
        self._cut[kind] += 1
        cut, calls = self._cut[kind], self._context.ledger.tally.by_model[call.model]
        if cut >= LEAST and cut > FEW * calls:
            replies = f"{cut:,} of {calls:,} replies of {call.model}"
            limit = f"reached their length limit of {call.max_tokens:,} tokens"
            if call.form and call.form != "query":  # no study sets their limit
                words = f"{replies}, asked for a {call.form}, {limit}: where it came too late, it is missing"
                advice = "choose a model that is brief, or raise max_reasoning_tokens where it reasons"
            else:
                words = f"{replies} {limit}, so what they say is incomplete"
                advice = "raise max_tokens, or max_reasoning_tokens where the model reasons"
            self._tell(call, f"cut {call.form}", f"{words}: {advice}.")

    def _tell(self, call: Call, what: str, words: str) -> None:
        if (call.model, what) not in self._told:
            self._told.add((call.model, what))
            self._context.log("warning", words)
