"""Contrasts as people write them, labelled by hand: what each means, or what its error must name.

Labels were written before the reader was run on them. A meaning is the contrast in full, with `×` and ` - `.
"""

from tidepool.engine.inference.hypotheses import Factor, Factors

FIRM = Factors(
    (
        Factor("firmness", ("plain", "firm", "very firm")),
        Factor("secret_game.mode", ("standard", "retained")),
        Factor("agents.Ada.model", ("gpt-4o", "gpt-4o-mini", "local:qwen3", "o3")),
    )
)
NASTY = Factors(
    (
        Factor("tone", ("a", "b", "a - b", "a x b", "a × b", "a | b", "a: b", "a = b", "a, b")),
        Factor("tone of voice", ("a", "loud", "x", "-", "×")),
        Factor("x", ("0", "1", "-1", "0.5", "1e-3", "true", "false")),
        Factor("prompt", ("Never yield.", "Never yield. Ever.", "Sag „nein“", "坚定", "é", "  two  spaces  ")),
    )
)
STEPS = Factors((Factor("model", ("small", "large", "large")), Factor("budget", ("low", "low", "high"))), mode="paired")

INTERACTION = "firmness: firm - plain × secret_game.mode: retained - standard"
AS_WRITTEN: list[tuple[Factors, list[str]]] = [
    (
        FIRM,
        [
            "firmness: firm - plain",
            "agents.Ada.model: gpt-4o-mini - gpt-4o",
            "agents.Ada.model: local:qwen3 - gpt-4o",
            "firmness: firm - plain | agents.Ada.model = local:qwen3",
            "secret_game.mode: retained - standard | firmness = very firm",
            INTERACTION,
        ],
    ),
    (
        NASTY,
        ["tone: a - b", "tone: a - a x b", "tone: b - a | b", "tone: a = b - a", "tone: a = b - a, b", "x: -1 - 1"],
    ),
    (NASTY, ["tone of voice: x - a", "tone of voice: - - a", "tone: b - a | x = 0.5", "x: 1 - 0 | tone = a = b"]),
    (NASTY, ["x: 1 - 0 | tone = a, prompt = é", "prompt: Never yield. - é", "prompt: Sag „nein“ - é"]),
    (STEPS, ["model: large - small", "model: large - small | budget = low"]),
]
MEANT: list[tuple[Factors, str, str]] = [
    *((factors, text, text) for factors, texts in AS_WRITTEN for text in texts),
    # a main effect, however it is spaced
    (FIRM, "  firmness :  firm  -  plain  ", "firmness: firm - plain"),
    (FIRM, "firmness: firm \u2212 plain", "firmness: firm - plain"),
    (FIRM, "firmness: very  firm-plain", "firmness: very firm - plain"),
    (FIRM, 'firmness: "firm" - "plain"', "firmness: firm - plain"),
    (FIRM, '"firmness": “firm” - plain', "firmness: firm - plain"),
    (FIRM, "agents.Ada.model: gpt-4o-mini-gpt-4o", "agents.Ada.model: gpt-4o-mini - gpt-4o"),
    # within a level, and interactions
    (FIRM, "firmness: firm - plain|secret_game.mode=retained", "firmness: firm - plain | secret_game.mode = retained"),
    (FIRM, "firmness: firm - plain X secret_game.mode: retained - standard", INTERACTION),
    (FIRM, "firmness:firm-plain×secret_game.mode:retained-standard", INTERACTION),
    (FIRM, f"{INTERACTION.replace('×', 'x')} | agents.Ada.model = o3", f"{INTERACTION} | agents.Ada.model = o3"),
    # levels that look like signs
    (Factors((Factor("f", ("a", "a - a")),)), 'f: "a - a" - a', "f: a - a - a"),
    (NASTY, 'tone: b - "a - b"', "tone: b - a - b"),
    (NASTY, "tone of voice: loud - a x x: 1 - 0", "tone of voice: loud - a × x: 1 - 0"),
    (NASTY, "x: 1--1", "x: 1 - -1"),
    (NASTY, "x: 1 - 0 x tone: b - a", "x: 1 - 0 × tone: b - a"),
    (NASTY, "prompt: Never yield.-Never yield. Ever.", "prompt: Never yield. - Never yield. Ever."),
    (NASTY, "prompt: e\u0301 - 坚定", "prompt: é - 坚定"),
    (NASTY, "prompt: two spaces - é", "prompt:   two  spaces   - é"),
]

WRONG: list[tuple[Factors, str, str]] = [
    (FIRM, "firmness: frim - plain", "Did you mean 'firm'"),
    (FIRM, "firmness: Firm - plain", "Did you mean 'firm'"),
    (FIRM, "firmnes: firm - plain", "Did you mean 'firmness'"),
    (FIRM, "mode: retained - standard", "Did you mean 'secret_game.mode'"),
    (FIRM, "secret_game.mode: kept - standard", "secret_game.mode: 'standard', 'retained'"),
    (FIRM, "", "cannot be read"),
    (FIRM, "firmness", "factor: level - level"),
    (FIRM, "firmness: firm", "factor: level - level"),
    (FIRM, "firmness: firm plain", "factor: level - level"),
    (FIRM, "firmness: firm - plain and so on", "cannot be read"),
    (FIRM, "firmness: firm - plain | secret_game.mode", "cannot be read"),
    (FIRM, "firmness: firm - plain |", "cannot be read"),
    (FIRM, "firmness: firm - plain ×", "cannot be read"),
    (FIRM, "firmness: firm - plain × | secret_game.mode = standard", "cannot be read"),
    (FIRM, "firmness: firm - plain | secret_game.mode = retained,", "cannot be read"),
    (FIRM, "firmness: firm - plain | mode = retained", "Did you mean 'secret_game.mode'"),
    (FIRM, "firmness: firm - firm", "with itself"),
    (FIRM, "firmness: firm - plain × firmness: very firm - plain", "'firmness' twice"),
    (FIRM, "firmness: firm - plain | firmness = firm", "also compares"),
    (FIRM, "firmness: firm - plain | secret_game.mode = retained, secret_game.mode = standard", "also compares"),
    (FIRM, "x" * 5_000, "cannot be read"),
    (FIRM, "firmness: [red]firm[/red] - plain", "cannot be read"),
    (NASTY, "tone of voice: - a", "factor: level - level"),
    (STEPS, "model: large - small × budget: high - low", "item by item"),
    (STEPS, "model: large - small | budget = high", "item by item"),
    (Factors(()), "firmness: firm - plain", "are none"),
]
