"""One question to an agent outside every batch, as a conversation of the secret game would put it."""

from tidepool.engine.call import Call, Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import Agent, reasoning_of
from tidepool.engine.studies.secret_game.prompts import Briefing, rules_text, system_prompt
from tidepool.engine.studies.secret_game.scoring import SCORING

VISITOR = "Visitor"
MESSAGES_LEFT = 4
"""in a talk of five whose first message was the visitor's"""


def trial_call(agent: Agent, message: str) -> Call:
    """What the agent is asked: with a secret, as in a talk of the secret game; without, as itself."""
    if agent.secret:
        system = system_prompt(
            Briefing(
                agent=agent.name,
                partner=VISITOR,
                secret=agent.secret,
                rules=rules_text("standard", SCORING),
                messages_left=MESSAGES_LEFT,
                instructions=agent.instructions,
            )
        )
    else:
        system = "\n\n".join(filter(None, (f"You are {agent.name}.", agent.instructions)))
    return Call(
        "try",
        1,
        resolve_model(agent.model),
        (Message("user", message),),
        system,
        temperature=agent.temperature,
        max_tokens=agent.max_tokens,
        **reasoning_of(agent),
    )
