"""Small studies to run: as objects, and as the file a user would write."""

from pathlib import Path
from typing import Any

from tidepool import SecretGame
from tidepool.engine.config.sections import Agent, Providers, Service, SimulatedSettings

CAST = {
    "Ada": ("simulated:guarded", "marigold"),
    "Bob": ("simulated:trusting", "lantern"),
    "Cleo": ("simulated:bargainer", "harbour"),
    "Dion": ("simulated:talkative", "violet"),
}

TWO_AGENTS = "".join(
    f'\n[[agents]]\nname = "{name}"\nmodel = "{model}"\nsecret = "{secret}"\n'
    for name, (model, secret) in list(CAST.items())[:2]
)
"""as TOML"""


def game(
    conversations: int = 10,
    messages: int = 3,
    *,
    service: dict[str, Any] | None = None,
    simulated: dict[str, Any] | None = None,
    seed: int = 42,
    **settings: Any,
) -> SecretGame:
    """Its waves are small, and go by batch API all the same where the service says so."""
    return SecretGame(
        agents=[Agent(name=name, model=model, secret=secret) for name, (model, secret) in CAST.items()],
        num_interactions=conversations,
        messages_per_interaction=messages,
        detection=["exact"],
        seed=seed,
        service=Service(**{"batch_from": 0, **(service or {})}),
        providers=Providers(simulated=SimulatedSettings(**(simulated or {}))),
        **settings,
    )


def written(folder: Path, conversations: int = 10, messages: int = 3, *, more: str = "", name: str = "study") -> Path:
    """The same as a file; `more` is TOML put before the agents."""
    agents = "\n".join(
        f'[[agents]]\nname = "{agent}"\nmodel = "{model}"\nsecret = "{secret}"\n'
        for agent, (model, secret) in CAST.items()
    )
    path = folder / f"{name}.toml"
    path.write_text(
        f'[batch]\nkind = "secret_game"\nname = "{name}"\nseed = 42\n'
        f"[secret_game]\nnum_interactions = {conversations}\nmessages_per_interaction = {messages}\n"
        f'detection = ["exact"]\n{more}\n{agents}'
    )
    return path
