"""Mistakes that the answers were developed with."""

from tests.engine.config.mistakes.cases import EVOLUTION, GAME, MUTATION, PANEL, Mistake, swapped

STOP = '\n[stop]\noutcome = "revealed"\nhalf_width = 0.05\n'

FIRST_HALF = [
    # -- another language than TOML
    Mistake("YAML", "batch:\n  kind: secret_game\nsecret_game:\n  rounds: 2\n", "line 1", "[batch]"),
    Mistake("JSON", '{"batch": {"kind": "secret_game"}, "secret_game": {}}', "line 1", "[batch]"),
    Mistake("a colon for =", swapped(GAME, "seed = 42", "seed: 42"), "line 4", "seed = 42"),
    Mistake("a fence of Markdown", f"```toml\n{GAME}```\n", "line 1", "Remove"),
    Mistake("a comment of C", swapped(GAME, "seed = 42", "seed = 42 // for now"), "line 4", "#"),
    Mistake("True of Python", swapped(GAME, "max_concurrent = 10", "cache = True"), "line 8", "cache = true"),
    Mistake("null", swapped(GAME, "seed = 42", "seed = null"), "line 4", "eave"),
    # -- letters
    Mistake("curly quotes", swapped(GAME, '"Trial"', "“Trial”"), "line 3", 'name = "Trial"'),
    Mistake("no quotes", swapped(GAME, '"Trial"', "Trial"), "line 3", 'name = "Trial"'),
    Mistake("no quotes around a model", swapped(GAME, '"simulated:guarded"', "simulated:guarded"), "line 16", '"simu'),
    Mistake("a quote left open", swapped(GAME, '"marigold"', '"marigold'), "line 17", "quote"),
    Mistake("a comma at the end", swapped(GAME, "seed = 42", "seed = 42,"), "line 4", "comma"),
    Mistake("thousands by comma", swapped(GAME, "num_interactions = 4", "num_interactions = 1,000"), "line 11", "1000"),
    Mistake("a space that is none", swapped(GAME, "seed = 42", "seed\u00a0= 42"), "line 4", "space"),
    Mistake(
        "a path of Windows",
        swapped(PANEL, 'context = "A panel on climate policy"', 'context_file = "C:\\Users\\a.txt"'),
        "line 5",
        "/",
    ),
    Mistake("a key with a space", swapped(GAME, "max_concurrent", "max concurrent"), "line 8", "max_concurrent"),
    # -- brackets and order
    Mistake("a bracket left open", swapped(GAME, "[service]", "[service"), "line 6", "[service]"),
    Mistake("a section twice", GAME + "\n[service]\nretries = 2\n", "line 24", "line 6"),
    Mistake("a key twice", swapped(GAME, "seed = 42", "seed = 42\nseed = 43"), "line 5", "line 4"),
    # -- sections
    Mistake("[agents]", GAME[: GAME.rindex("[[agents]]")].replace("[[agents]]", "[agents]"), "line 14", "[[agents]]"),
    Mistake("[agents] twice", GAME.replace("[[agents]]", "[agents]"), "line 19", "[[agents]]"),
    Mistake("[[agent]]", GAME.replace("[[agents]]", "[[agent]]"), "line 14", "agents"),
    Mistake(
        "[agents.Ada]",
        GAME.replace('[[agents]]\nname = "Ada"', "[agents.Ada]").replace('[[agents]]\nname = "Bob"', "[agents.Bob]"),
        "line 14",
        "[[agents]]",
    ),
    Mistake("[[batch]]", swapped(GAME, "[batch]", "[[batch]]"), "line 1", "[batch]"),
    Mistake("[game]", swapped(GAME, "[secret_game]", "[game]"), "line 10", "[secret_game]"),
    Mistake("[services]", swapped(GAME, "[service]", "[services]"), "line 6", "service"),
    Mistake(
        "kind before every section",
        swapped(GAME, '[batch]\nkind = "secret_game"\n', 'kind = "secret_game"\n[batch]\n'),
        "line 1",
        "[batch]",
    ),
    Mistake("a section of another kind", GAME + "\n[simulation]\nn_turns = 2\n", "line 24", "Remove"),
    # -- keys
    Mistake("a misspelt key", swapped(GAME, "max_concurrent", "max_concurent"), "line 8", "max_concurrent"),
    Mistake(
        "a key of another section", swapped(GAME, "seed = 42", "seed = 42\nmax_concurrent = 5"), "line 5", "[service]"
    ),
    Mistake(
        "a key of an agent in the game",
        swapped(GAME, "num_interactions = 4", "temperature = 0.2"),
        "line 11",
        "[[agents]]",
    ),
    Mistake(
        "agent_ids within a section",
        swapped(GAME, "num_interactions = 4", 'agent_ids = ["ada"]'),
        "line 11",
        "first section",
    ),
    Mistake("a key that is missing", swapped(GAME, 'model = "simulated:trusting"\n', ""), "line 19", "model"),
    # -- values
    Mistake("a number in quotes", swapped(GAME, "seed = 42", 'seed = "42"'), "line 4", "seed = 42"),
    Mistake("half a round", swapped(GAME, "num_interactions = 4", "num_interactions = 4.5"), "line 11", "whole"),
    Mistake("text for a list", swapped(GAME, "num_interactions = 4", 'detection = "exact"'), "line 11", '["exact"]'),
    Mistake("a misspelt choice", swapped(GAME, '"live"', '"lve"'), "line 7", "'live'"),
    Mistake("too small", swapped(GAME, "max_concurrent = 10", "max_concurrent = 0"), "line 8", "1"),
    # -- who is meant
    Mistake("a misspelt persona", swapped(GAME, "simulated:guarded", "simulated:gaurded"), "line 16", "guarded"),
    Mistake(
        "a misspelt provider", swapped(GAME, "simulated:guarded", "simulatd:guarded"), "line 16", "simulated:guarded"
    ),
    Mistake(
        "a misspelt target",
        swapped(GAME, "num_interactions = 4", 'mode = "targeted"\ntargeted_secret = "marigld"'),
        "line 12",
        "'marigold'",
    ),
    Mistake("a misspelt agent of [stop]", GAME + STOP + 'agent = "Adda"\n', "line 27", "'Ada'"),
    # -- keys that nobody reads
    Mistake(
        "a target in mode standard",
        swapped(GAME, "num_interactions = 4", 'targeted_secret = "marigold"'),
        "line 11",
        'mode = "targeted"',
    ),
    Mistake(
        "agents in a simulation",
        PANEL + '\n[[agents]]\nname = "Ada"\nmodel = "simulated:guarded"\n',
        "line 18",
        "[[entities]]",
    ),
    Mistake(
        "an epoch of ppo for a bandit",
        swapped(MUTATION, 'learner = "bandit"', 'learner = "bandit"\nppo_epoch = 2'),
        "line 8",
        "ppo",
    ),
    Mistake(
        "model beside models",
        swapped(EVOLUTION, "population_size", 'models = ["simulated:solver", "simulated:other"]\npopulation_size'),
        "line 5",
        "models",
    ),
    # -- found beside them
    Mistake("a wide =", swapped(GAME, "seed = 42", "seed ＝ 42"), "line 4", "seed = 42"),
    Mistake("a section as text", 'service = "live"\n' + swapped(PANEL, "[batch]", "[batch]"), "line 1", "[service]"),
    Mistake(
        "agents within a section", GAME[: GAME.index("[[agents]]")] + 'agents = ["Ada"]\n', "line 14", "[[agents]]"
    ),
    Mistake("a choice in brackets", swapped(GAME, '"live"', '["live"]'), "line 7", 'name = "live"'),
    Mistake(
        "a model with a slash",
        swapped(GAME, "simulated:guarded", "openai/gpt-4o-mini"),
        "line 16",
        "openai:gpt-4o-mini",
    ),
    Mistake(
        "an agent without its line",
        swapped(GAME, '\n[[agents]]\nname = "Bob"', 'name = "Bob"'),
        "line 18",
        "[[agents]]",
    ),
    Mistake(
        "a misspelt agent of a design",
        GAME + '\n[design.factors]\n"agents.Adda.secret" = ["a", "b"]\n',
        "line 25",
        "'Ada'",
    ),
]
