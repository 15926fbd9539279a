"""Chinese whispers as a kind of study: a sentence passes from mouth to mouth. How much of it arrives?"""

from pydantic import Field

from tidepool.engine.extending import (
    BatchRun,
    Call,
    Kind,
    Message,
    ModelName,
    Outcome,
    Plan,
    PlannedCalls,
    Results,
    Section,
    Sections,
    Study,
    Unit,
    UnitPlan,
    expected_tokens,
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


class Whispers(Study[WhispersSettings]):
    independent = True  # chains do not hear each other, so [stop] can watch the words that arrive

    def plan(self) -> Plan:
        tokens = expected_tokens(self.settings.sentence)
        asked = expected_tokens(SYSTEM) + tokens
        chains, model = self.settings.chains, self.settings.model
        waves = range(1, self.settings.hearers + 1)
        return Plan(chains, tuple(PlannedCalls(wave, model, chains, asked, tokens) for wave in waves))

    async def play(self, run: BatchRun) -> None:
        chains = range(1, self.settings.chains + 1)
        run.expect_units(len(chains))
        await run.units(UnitPlan(number, self.chain, participants=("Hearer",)) for number in chains)

    async def chain(self, unit: Unit) -> None:
        heard = self.settings.sentence
        for turn in range(1, self.settings.hearers + 1):
            message = Message("user", heard)
            call = Call(f"t{turn}", turn, self.settings.model, (message,), SYSTEM, speaker=f"Hearer {turn}", turn=turn)
            heard = (await unit.ask(call)).text
        unit.measure("words kept", 100 * _kept(self.settings.sentence, heard))


def _kept(sentence: str, heard: str) -> float:
    """The share of the words that arrived."""
    words = set(sentence.lower().split())
    return len(words & set(heard.lower().split())) / len(words)


class WhispersResults(Results):
    def measures(self, sections: Sections) -> list[Outcome]:
        return [Outcome(name="words kept", words="words that arrived, of a hundred", bounds=(0.0, 100.0))]


KIND = Kind(
    name="whispers",
    title="Whispers",
    summary="a sentence passes from mouth to mouth, and you see how much of it arrives",
    units="chains",
    settings_class=WhispersSettings,
    study_class=Whispers,
    results_class=WhispersResults,
    talks=True,
)
