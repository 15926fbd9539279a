"""Mistakes that were kept back until the answers were there."""

from tests.engine.config.mistakes.cases import EVOLUTION, GAME, MUTATION, PANEL, Mistake, swapped

STOP = '\n[stop]\noutcome = "revealed"\ndecided = true\n'
HYPOTHESIS = """
[design]
[design.factors]
"secret_game.mode" = ["standard", "retained"]
[[design.hypotheses]]
outcome = "revealed"
contrast = "secret_game.mode: standrd - retained"
"""

SECOND_HALF = [
    # -- another language than TOML
    Mistake("YAML with dashes", "---\nbatch:\n  kind: simulation\nentities:\n  - name: Ada\n", "line", "[batch]"),
    Mistake("JSON over lines", '{\n  "batch": {\n    "kind": "mutation"\n  }\n}\n', "line 1", "[batch]"),
    Mistake(
        "keys in quotes with colons", swapped(GAME, 'name = "Trial"', '"name": "Trial"'), "line 3", 'name = "Trial"'
    ),
    Mistake("a semicolon at the end", swapped(GAME, "seed = 42", "seed = 42;"), "line 4", "semicolon"),
    Mistake("a comment of C on its own line", swapped(GAME, "seed = 42", "// a seed\nseed = 42"), "line 4", "#"),
    Mistake("False of Python", swapped(GAME, "max_concurrent = 10", "cache = False"), "line 8", "cache = false"),
    Mistake("None of Python", swapped(GAME, "seed = 42", "seed = None"), "line 4", "eave"),
    Mistake("yes", swapped(GAME, "max_concurrent = 10", "cache = yes"), "line 8", "cache = true"),
    # -- letters
    Mistake("curly single quotes", swapped(GAME, '"lantern"', "‘lantern’"), "line 22", '"lantern"'),
    Mistake("low German quotes", swapped(GAME, '"Trial"', "„Trial“"), "line 3", '"Trial"'),
    Mistake("two words without quotes", swapped(GAME, '"Trial"', "My first trial"), "line 3", '"My first trial"'),
    Mistake("a single quote left open", swapped(GAME, '"lantern"', "'lantern"), "line 22", "quote"),
    Mistake("a share without zero", swapped(MUTATION, "num_env_steps = 200", "heldout = .2"), "line 8", "0.2"),
    Mistake("per cent", swapped(MUTATION, "num_env_steps = 200", "heldout = 20%"), "line 8", "0.2"),
    Mistake(
        "text over lines", swapped(PANEL, "A panel on climate policy", "A panel\non climate policy"), "line 5", '"""'
    ),
    Mistake("no =", swapped(GAME, "seed = 42", "seed 42"), "line 4", "seed = 42"),
    Mistake("no value", swapped(GAME, "seed = 42", "seed ="), "line 4", "value"),
    # -- brackets and order
    Mistake("one bracket too few", swapped(GAME, "[[agents]]", "[[agents]"), "line 14", "[[agents]]"),
    Mistake("a list left open", swapped(GAME, "num_interactions = 4", 'detection = ["exact", "fuzzy"'), "line 11", "]"),
    Mistake(
        "a table over lines",
        swapped(PANEL, "{ openness = 9, age = 45 }", "{\n  openness = 9,\n  age = 45,\n}"),
        "line 12",
        "one line",
    ),
    Mistake("a section with a space", swapped(GAME, "[secret_game]", "[secret game]"), "line 10", "[secret_game]"),
    # -- sections
    Mistake(
        "[entities]",
        PANEL[: PANEL.rindex("[[entities]]")].replace("[[entities]]", "[entities]"),
        "line 9",
        "[[entities]]",
    ),
    Mistake("[Batch]", swapped(GAME, "[batch]", "[Batch]"), "line 1", "[batch]"),
    Mistake("[openai]", GAME + "\n[openai]\nmax_concurrent = 3\n", "line 24", "[providers.openai]"),
    Mistake("[provider.openai]", GAME + "\n[provider.openai]\nmax_concurrent = 3\n", "line 24", "providers"),
    Mistake("[[secret_game]]", swapped(GAME, "[secret_game]", "[[secret_game]]"), "line 10", "[secret_game]"),
    Mistake("[simulations]", swapped(PANEL, "[simulation]", "[simulations]"), "line 4", "[simulation]"),
    Mistake("seed before every section", "seed = 7\n" + swapped(GAME, "seed = 42\n", ""), "line 1", "[batch]"),
    # -- keys
    Mistake("a key with a hyphen", swapped(GAME, "max_concurrent", "max-concurrent"), "line 8", "max_concurrent"),
    Mistake(
        "a key of the game in [batch]", swapped(GAME, "seed = 42", "num_interactions = 9"), "line 4", "[secret_game]"
    ),
    Mistake("a key of the provider", GAME + '\n[providers.openai]\napi_key = "sk-1"\n', "line 25", "environment"),
    Mistake("a misspelt key of an entity", swapped(PANEL, "description =", "desciption ="), "line 11", "description"),
    Mistake(
        "a misspelt key of a price",
        GAME + '\n[providers.openai.prices]\n"x" = { input = 1.0, ouput = 2.0 }\n',
        "line 25",
        "output",
    ),
    # -- values
    Mistake("a switch in quotes", swapped(GAME, "max_concurrent = 10", 'cache = "true"'), "line 8", "cache = true"),
    Mistake("a number for text", swapped(GAME, '"Trial"', "2026"), "line 3", '"2026"'),
    Mistake("a number for a list", swapped(PANEL, "num_simulations = 3", "entity_ids = 3"), "line 7", "["),
    Mistake(
        "a misspelt strategy",
        swapped(EVOLUTION, "population_size = 10", 'selection = "tournement"'),
        "line 7",
        "'tournament'",
    ),
    Mistake("too warm", swapped(GAME, 'secret = "marigold"', 'secret = "marigold"\ntemperature = 3.5'), "line 18", "2"),
    Mistake("an elite of all", swapped(EVOLUTION, "elite_size = 2", "elite_size = 10"), "line 9", "room"),
    # -- who is meant
    Mistake(
        "a misspelt persona of a solver",
        swapped(EVOLUTION, "simulated:rewriter", "simulated:rewritr"),
        "line 6",
        "rewriter",
    ),
    Mistake("a misspelt preset", swapped(GAME, "simulated:guarded", "gpt4o_mni"), "line 16", "'gpt4o_mini'"),
    Mistake("a misspelt difference", GAME + STOP + 'difference = "Ada - Bbo"\n', "line 27", "'Bob'"),
    Mistake("a misspelt level", GAME + HYPOTHESIS, "line 29", "standard"),
    # -- keys that nobody reads
    Mistake(
        "a judge whom nobody asks",
        swapped(GAME, "num_interactions = 4", 'judge = "simulated:judge"'),
        "line 11",
        "detection",
    ),
    Mistake("entities in a game", GAME + '\n[[entities]]\nname = "Hypatia"\n', "line 24", "[[agents]]"),
    Mistake(
        "a judge beside another reward",
        swapped(MUTATION, 'learner = "bandit"', 'judge = "simulated:judge"'),
        "line 7",
        'reward = "judge"',
    ),
]
