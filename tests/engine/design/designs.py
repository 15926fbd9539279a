"""Configs of studies of several batches."""

from pathlib import Path

AGENTS = """
[[agents]]
name = "Ada"
model = "simulated:guarded"
secret = "marigold"
[[agents]]
name = "Dr. Bob"
model = "simulated:naive"
secret = "tulip"
"""
FACTORS = """
[design]
replicates = 2
[design.factors]
"agents.Ada.model" = ["simulated:guarded", "simulated:naive"]
firmness = [ { level = "plain", set = {} }, { level = "firm", set = { "agents.*.instructions" = "Never yield." } } ]
[[design.hypotheses]]
outcome = "revealed"
contrast = "firmness: firm - plain"
direction = "less"
"""


def written(
    folder: Path, *, factors: str = FACTORS, talks: int = 6, messages: int = 3, more: str = "", name: str = "study"
) -> Path:
    path = folder / f"{name}.toml"
    head = f'[batch]\nkind = "secret_game"\nname = "Firm or plain"\nseed = 7\n{more}\n'
    game = f"[secret_game]\nnum_interactions = {talks}\nmessages_per_interaction = {messages}\n"
    path.write_text(head + game + AGENTS + factors, encoding="utf-8")
    return path
