"""Who hears what: every request of a game is recorded, and each word in it traced to the message it came from."""

import json
from collections import defaultdict
from typing import Any

import pytest

from tests.engine.studies.secret_game.table import SECRETS, Request, Table, agents, tags_in
from tidepool.engine.call import Call
from tidepool.engine.providers.protocol import ErrorClass, ProviderError

SHAPES: list[dict[str, Any]] = [
    {"size": 4, "long": ("Ada", "Bob", "Cleo", "Dion"), "games": 2, "rounds": 3},
    {"size": 4, "long": ("Ada",), "games": 2, "rounds": 4},
    {"size": 5, "long": ("Ada", "Eve"), "games": 2, "rounds": 5, "pairing": "random"},
    {"size": 3, "long": ("Ada", "Bob", "Cleo"), "games": 2, "rounds": 2, "pairing": "ordered"},
    {"size": 4, "long": ("Ada", "Dion"), "games": 1, "rounds": 3, "mode": "retained"},
    {"size": 4, "long": (), "games": 2, "rounds": 3},
]
SERVICES = ("live", "default", "auto", "openai")


async def _played(table: Table, shape: dict[str, Any], service: str = "live") -> list[Request]:
    settings = dict(shape)
    players = agents(settings.pop("size"), settings.pop("long"))
    if service in ("auto", "openai"):
        table.take_orders()
    await table.play(players, service=service, messages_per_interaction=3, **settings)
    return table.requests()


def _participants(table: Table) -> dict[int, tuple[str, str]]:
    rows = table.query("SELECT sequence_number, participants FROM conversations")
    return {number: tuple(json.loads(names)) for number, names in rows}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape['size']} agents, {len(shape['long'])} remember")
@pytest.mark.parametrize("service", SERVICES)
async def test_a_request_holds_the_talk_so_far_and_for_long_memory_the_earlier_ones_of_the_game_and_nothing_else(
    table: Table, shape: dict[str, Any], service: str
) -> None:
    requests = await _played(table, shape, service)
    names = _participants(table)
    said: dict[int, dict[int, str]] = defaultdict(dict)
    for number, turn, content in table.query(
        "SELECT c.sequence_number, m.turn, m.content FROM messages m JOIN conversations c ON c.id = m.conversation_id"
    ):
        said[number][turn] = content
    where = {request.conversation: (request.game, request.round) for request in requests}
    assert len(requests) == len(names) * 3
    for request in requests:
        present = [said[request.conversation][turn] for turn in range(1, request.turn)]
        earlier = []
        if request.speaker in shape["long"]:
            for number in sorted(names):
                game, round_number = where[number]
                if request.speaker in names[number] and game == request.game and round_number < request.round:
                    earlier += [said[number][turn] for turn in sorted(said[number])]
        assert tags_in(request.call) == earlier + present


async def test_a_talk_with_oneself_alternates_roles_by_side(table: Table) -> None:
    await table.play(agents(1), pairing="ordered", rounds=1, messages_per_interaction=4)
    by_turn = {request.turn: request.call for request in table.requests()}
    roles = {turn: [message.role for message in call.messages] for turn, call in by_turn.items()}
    assert roles == {1: ["user"], 2: ["user"], 3: ["user", "assistant", "user"], 4: ["user", "assistant", "user"]}


@pytest.mark.parametrize("shape", SHAPES[:5], ids=str)
async def test_the_partners_system_prompt_never_reaches_the_other_side(table: Table, shape: dict[str, Any]) -> None:
    """Replies here never contain a secret, so no secret of another agent may appear anywhere in a request."""
    requests = await _played(table, shape)
    systems = {request.call.system for request in requests}
    for request in requests:
        own = SECRETS[("Ada", "Bob", "Cleo", "Dion", "Eve").index(request.speaker)]
        whole = "\n".join((request.call.system, *(message.text for message in request.call.messages)))
        assert own in request.call.system
        assert not [secret for secret in SECRETS if secret != own and secret in whole]
        assert not any(system in message.text for message in request.call.messages for system in systems)


async def test_a_failed_talk_leaves_no_memory(table: Table) -> None:
    def speech(call: Call, seed: int) -> str:
        if call.turn == 2 and call.speaker == "Bob" and len(call.messages) == 1:
            raise ProviderError(ErrorClass.CLIENT, "no answer for Bob")
        return f"<{seed}>"

    table.speech = speech
    summary = await table.play(agents(2, ("Ada", "Bob")), rounds=2, pairing="round_robin", messages_per_interaction=2)
    assert summary["status"] in ("partial", "failed")
    later = [asked.call for asked in table.asked if asked.call.turn == 1]
    assert all(len(call.messages) == 1 for call in later)
