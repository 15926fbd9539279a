"""Every name that a config can choose by and that an installed package can add to, each kind of name in one table.

A table holds places, not things: nothing is imported until somebody asks for a name, and whatever a config may name can be
checked from here without a circle. Who uses a table knows what it holds: `engine/studies/kinds.py`,
`engine/providers/catalogue.py`, the detectors of the secret game, the operators of the mutation, the scorers of the evolution.
"""

from typing import Any

from tidepool.engine.plugins import Registry

_STUDIES = "tidepool.engine.studies"

KINDS: Registry[Any] = Registry(
    "kind of study",
    "tidepool.kinds",
    {
        "secret_game": f"{_STUDIES}.secret_game.study:KIND",
        "simulation": f"{_STUDIES}.simulation.study:KIND",
        "evolution": f"{_STUDIES}.evolution.study:KIND",
        "mutation": f"{_STUDIES}.mutation.study:KIND",
    },
    "KindSpec",
)

_PROVIDERS = "tidepool.engine.providers"

PROVIDERS: Registry[Any] = Registry(
    "provider",
    "tidepool.providers",
    {
        "simulated": "tidepool.engine.providers.simulated.provider:PROVIDER",
        "openai": f"{_PROVIDERS}.openai:PROVIDER",
        "anthropic": f"{_PROVIDERS}.anthropic:PROVIDER",
        "ollama": f"{_PROVIDERS}.ollama:PROVIDER",
    },
    "ProviderSpec",
)

_DETECTORS = f"{_STUDIES}.secret_game.detectors"

DETECTORS: Registry[Any] = Registry(
    "detector",
    "tidepool.detectors",
    {
        "exact": f"{_DETECTORS}.exact:detect",
        "spelled": f"{_DETECTORS}.spelled:detect",
        "encoded": f"{_DETECTORS}.encoded:detect",
        "fuzzy": f"{_DETECTORS}.fuzzy:find_fuzzy",
    },
    "function",
)
"""holds functions (message, secret, threshold) → where the secret stands in the message, or None"""

_OPERATORS = f"{_STUDIES}.mutation.operators"

OPERATORS: Registry[Any] = Registry(
    "operator",
    "tidepool.operators",
    {
        "noop": f"{_OPERATORS}:KEEP",
        "paraphrase": f"{_OPERATORS}:PARAPHRASE",
        "add_context": f"{_OPERATORS}:ADD_CONTEXT",
        "change_perspective": f"{_OPERATORS}:CHANGE_PERSPECTIVE",
        "make_indirect": f"{_OPERATORS}:MAKE_INDIRECT",
        "simplify": f"{_OPERATORS}:SIMPLIFY",
        "formalise": f"{_OPERATORS}:FORMALISE",
        "shorten": f"{_OPERATORS}:SHORTEN",
        "ask_for_steps": f"{_OPERATORS}:ASK_FOR_STEPS",
    },
    "Operator",
)
"""of the mutation"""

SCORERS: Registry[Any] = Registry(
    "scorer",
    "tidepool.scorers",
    {"match": f"{_STUDIES}.evolution.tasks.task:match"},
    "function",
)
"""holds functions (reply, expected, tokens) → Verdict, of the evolution"""
