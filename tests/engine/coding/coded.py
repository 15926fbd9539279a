"""Small batches that were coded: played offline, with planted codes."""

import asyncio
import random
from pathlib import Path

from tidepool.engine.coding.session import CodingSession, subject_at
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.toml_files import parse_toml
from tidepool.engine.run import run_batch
from tidepool.storage.codes import NewCode, put_codes
from tidepool.storage.file import reading

GAME = """
[batch]
kind = "secret_game"
seed = 5
[secret_game]
num_interactions = {talks}
messages_per_interaction = 3
detection = ["exact", "judge"]
judge = "simulated:judge"
"""
AGENT = '[[agents]]\nname = "{name}"\nmodel = "simulated:{persona}"\nsecret = "{secret}"\n'
AGENTS = (("Ada", "guarded", "marigold"), ("Bob", "trusting", "lantern"), ("Cleo", "talkative", "harbour"))

SIMULATION = """
[batch]
kind = "simulation"
seed = 3
[simulation]
context = "Neighbours talk about a proposal."
num_simulations = {talks}
model = "simulated:persona"
judge = {{ model = "simulated:judge", question = "Does the speaker agree, 1 to 5?", scale = [1, 5] }}
"""
ENTITY = '[[entities]]\nname = "{name}"\ndescription = "a neighbour"\nattributes = {{ agreeableness = {value} }}\n'


def played_game(path: Path, talks: int = 90) -> Path:
    agents = "".join(AGENT.format(name=name, persona=persona, secret=secret) for name, persona, secret in AGENTS)
    _run(path, GAME.format(talks=talks) + agents)
    return path


def played_simulation(path: Path, talks: int = 45) -> Path:
    people = "".join(ENTITY.format(name=f"N{number}", value=number) for number in range(1, 11))
    _run(path, SIMULATION.format(talks=talks) + people)
    return path


def _run(path: Path, text: str) -> None:
    asyncio.run(run_batch(config_from(parse_toml(text, "the test's config")), path))


def code_all(
    path: Path, coder: str, most: int = 10_000, size: int | None = None, choices: tuple[str, ...] = ()
) -> CodingSession:
    """Codes the first so many of the sample, all at once; by whether the secret was said, with slips of the coder's own."""
    chance = random.Random(coder)
    session = CodingSession(path, "last", coder, size=size)
    codes = choices or ("no", "yes", "unclear")
    new = []
    with reading(path) as connection:
        for one in session.sample.chosen[:most]:
            subject = subject_at(connection, session.batch, one.place)
            own = " ".join(said.text for said in subject.quotes if said.is_coded)
            likely = len(own) % 2 if choices else (subject.secret or "") in own
            code = codes[likely] if chance.random() < 0.8 else chance.choice(codes)
            new.append(NewCode(one.place, subject.agent, code, one.weight))
    put_codes(path, session.batch_id, coder, new)
    return session
