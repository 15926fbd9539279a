"""Chinese whispers as a kind of study: a sentence passes from mouth to mouth. How much of it arrives?"""

import sqlite3
from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field

from tidepool.engine.extending import (
    BatchRun,
    BatchValues,
    Call,
    FrozenConfig,
    KindOutcomes,
    KindSpec,
    Message,
    ModelName,
    Outcome,
    Plan,
    PlannedCalls,
    Section,
    Sections,
    StoredConfig,
    Talk,
    Unit,
    UnitPlan,
    expected_tokens,
    units_in_pages,
)

SYSTEM = "Repeat what you are told in your own words, in one sentence, and say nothing else."


class WhispersSettings(Section):
    sentence: str = Field(default="The old harbour master sold seven brass lanterns", min_length=1)
    """what the first one hears"""
    model: ModelName = "echo:forgetful"
    """PROVIDER:MODEL or a preset: who listens and retells"""
    chains: int = Field(default=10, ge=1)
    """how many times the sentence sets out"""
    hearers: int = Field(default=5, ge=1, le=100)
    """how many retell it, one after the other"""


def settings_of(config: FrozenConfig) -> WhispersSettings:
    return cast(WhispersSettings, config.settings)


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    tokens = expected_tokens(settings.sentence)
    asked = expected_tokens(SYSTEM) + tokens
    waves = range(1, settings.hearers + 1)
    return Plan(
        settings.chains, tuple(PlannedCalls(wave, settings.model, settings.chains, asked, tokens) for wave in waves)
    )


async def play(run: BatchRun) -> None:
    settings = settings_of(run.config)

    async def chain(unit: Unit) -> None:
        heard = settings.sentence
        for turn in range(1, settings.hearers + 1):
            call = Call(
                f"t{turn}", turn, settings.model, (Message("user", heard),), SYSTEM, speaker=f"Hearer {turn}", turn=turn
            )
            heard = (await unit.ask(call)).text

    run.expect_units(settings.chains)
    await run.units(UnitPlan(number, chain, participants=("Hearer",)) for number in range(1, settings.chains + 1))


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: StoredConfig) -> dict[str, Any]:
    words = set(config.sections["whispers"]["sentence"].lower().split())
    kept = list(_kept(connection, batch["number"], words).values())
    return {
        "chains": len(kept),
        "words_kept_percentage": sum(kept) / len(kept) if kept else None,
        "untouched": sum(share == 100 for share in kept),
    }


def _kept(connection: sqlite3.Connection, batch_number: int, words: set[str]) -> dict[int, float]:
    """Of each chain that came to its end, by its number: the share of the words that arrived."""
    return {
        unit.sequence_number: 100 * len(words & set(unit.messages[-1].content.lower().split())) / len(words)
        for unit in units_in_pages(connection, batch_number)
        if unit.status == "completed"
    }


KEPT = Outcome(name="words kept", words="words that arrived, of a hundred", bounds=(0.0, 100.0))


def compared(connection: sqlite3.Connection, batch: Mapping[str, Any], sections: Sections) -> BatchValues:
    """What designs compare, chain by chain."""
    kept = _kept(connection, batch["number"], set(sections["whispers"]["sentence"].lower().split()))
    return BatchValues(talks=[Talk(number) for number in kept], by_talk={KEPT.name: list(kept.values())})


KIND = KindSpec(
    name="whispers",
    title="Whispers",
    summary="a sentence passes from mouth to mouth: how much of it arrives?",
    units="chains",
    settings=lambda: WhispersSettings,
    plan=plan,
    play=play,
    statistics=statistics,
    outcomes=lambda: KindOutcomes(lambda sections: [KEPT], compared),
    talks=True,
)
