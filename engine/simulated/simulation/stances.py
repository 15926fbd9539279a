"""How simulated speakers say where they stand, and how the simulated judge reads it out of their words.

A stance runs from -1 (against) to 1 (in favour) and is spoken in five steps, each with phrases of its own.
"""

STEPS: tuple[tuple[str, ...], ...] = (
    ("I am firmly against", "I cannot accept", "I want nothing to do with"),
    ("I have my doubts about", "I am not convinced by", "I would be careful with"),
    ("I can see both sides of", "I have not made up my mind on", "I am of two minds about"),
    ("I am inclined to support", "I see more good than harm in", "I lean towards"),
    ("I am wholly in favour of", "I gladly support", "I stand behind"),
)
_EDGES = (-0.6, -0.2, 0.2, 0.6)
_MEANINGS = {phrase[:9]: (phrase, step / 2 - 1.0) for step, phrases in enumerate(STEPS) for phrase in phrases}
"""by their first nine characters, in which they all differ"""
_FOR = (" agree", " yes", " support", " good idea", " welcome", " in favour")
_AGAINST = (" disagree", " no ", " oppose", " doubt", " refuse", " against")


def step_of(stance: float) -> int:
    return sum(stance >= edge for edge in _EDGES)


def heard_stance(text: str) -> float | None:
    """The mean of all stances in a text; without such a phrase, the balance of its words for and against."""
    total, count = 0.0, 0
    at = text.find("I ")
    while at >= 0:
        meaning = _MEANINGS.get(text[at : at + 9])
        if meaning and text.startswith(meaning[0], at):
            total += meaning[1]
            count += 1
        at = text.find("I ", at + 2)
    return total / count if count else _balance_of_words(text)


def _balance_of_words(text: str) -> float | None:
    words = f" {text.casefold()} "
    good = sum(map(words.count, _FOR))
    bad = sum(map(words.count, _AGAINST))
    return (good - bad) / (good + bad) if good + bad else None
