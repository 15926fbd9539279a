"""A scorer of the evolution: the last word is the answer, and only a brief reply is right."""

from tidepool.engine.extending import Verdict

MOST_TOKENS = 200


def score(reply: str, expected: str, tokens: int) -> Verdict:
    words = reply.replace("#", " ").split()
    answer = words[-1].strip(".*") if words else None
    return Verdict(answer, answer == expected.strip() and tokens <= MOST_TOKENS, tokens)
