"""Where prompts are judged: generation after generation on the training problems, by racing where that is asked.

A strategy brings genomes and reads scores; it never sees a held-out problem. What was judged once is known and is
not asked again, so elites cost nothing.
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean

from engine.evolution.chronicle import Chronicle
from engine.evolution.config import EvolutionSettings
from engine.evolution.contender import Contender
from engine.evolution.diversity import distance_to_rest, mean_distance
from engine.evolution.examiner import Examiner, Paper
from engine.evolution.genome import Genome
from engine.evolution.numbering import Numbering
from engine.evolution.problems import Problem
from engine.evolution.racing import Rung, calls_in, comparable, rungs, survivors
from engine.evolution.selection import elites
from engine.evolution.stopping import Generation, StopRules, stopped_by
from engine.streams import stream
from engine.tide import Tide

NOTHING_ANSWERED = "none of its calls was answered"


class Arena:
    def __init__(
        self,
        tide: Tide,
        settings: EvolutionSettings,
        problems: Sequence[Problem],
        examiner: Examiner,
        numbering: Numbering,
        chronicle: Chronicle | None,
        letter: str = "g",
    ) -> None:
        self.tide = tide
        self.settings = settings
        self.examiner = examiner
        self.numbering = numbering
        self.problems = problems
        self.known: dict[str, Contender] = {}
        """by prompt"""
        self.history: list[Generation] = []
        self.calls = 0
        self.calls_saved = 0
        """by racing, against asking every genome every problem"""
        self._chronicle = chronicle
        self._letter = letter
        self._calls_told = 0
        self._weights = settings.stated_weights()
        self._answered = True

    # -- for strategies ----------------------------------------------------------------------------------

    def stream(self, *address: object) -> Random:
        return stream(self.tide.seed, self._letter, *address)

    async def judge(self, genomes: Sequence[Genome]) -> None:
        """One generation: its new prompts meet the problems."""
        generation = len(self.history)
        entrants = self._admit(genomes, generation)
        await self._race(entrants, generation)
        self._answered = not entrants or any(entrant.fitness for entrant in entrants)
        self._tell(genomes, generation, entrants)

    def stopped(self) -> str | None:
        """The rule that ends the search now, if one does."""
        if not self._answered:
            return "unanswered"
        settings = self.settings
        rules = StopRules(settings.target_fitness, settings.max_generations, settings.stagnation)
        if rule := stopped_by(self.history, rules):
            return rule
        next_calls = self.calls_of_generation(settings.population_size)
        return "max_calls" if 0 < settings.max_calls < self.calls + next_calls else None

    def scores(self, genomes: Sequence[Genome]) -> list[float]:
        """Scores that can be compared, whether they rest on few replies or on many."""
        return _scores([self.known[genome.prompt] for genome in genomes])

    def leader(self, operator: str | None = None) -> Contender:
        """The best of all, or of those that came about in this way."""
        contenders = [one for one in self.known.values() if operator in (None, one.genome.operator)]
        return contenders[elites(_scores(contenders), 1)[0]]

    def calls_of_generation(self, genomes: int) -> int:
        """No fewer than a generation of so many new genomes takes, rewrites included."""
        return self.examiner.calls_for(calls_in(self._rungs(genomes))) + genomes

    def fork(self, letter: str) -> "Arena":
        """Another search from the same judged seeds, which it has paid for too; it leaves no genomes in the file."""
        other = Arena(self.tide, self.settings, self.problems, self.examiner, self.numbering, None, letter)
        other.known = {prompt: one for prompt, one in self.known.items() if one.genome.generation == 0}
        other.history = self.history[:1]
        other.calls = other._calls_told = self.history[0].calls
        return other

    # -- one generation ----------------------------------------------------------------------------------

    def _admit(self, genomes: Sequence[Genome], generation: int) -> list[Contender]:
        prompts = [genome.prompt for genome in genomes]
        entrants = []
        for place, genome in enumerate(genomes):
            if genome.prompt in self.known:
                continue
            unit = self.tide.open_unit(
                self.numbering.next_unit(),
                participants=(genome.id,),
                round=generation,
                interaction_type="genome" if self._letter == "g" else "random_search",
            )
            distance = distance_to_rest(place, prompts, self.stream("distance", generation, place))
            contender = Contender(genome, f"{self._letter}{generation}.{place}", unit, distance)
            self.known[genome.prompt] = contender
            entrants.append(contender)
        self.tide.expect_units(self.numbering.units)
        return entrants

    async def _race(self, entrants: list[Contender], generation: int) -> None:
        order = list(range(len(self.problems)))
        self.stream("order", generation).shuffle(order)
        racing = list(range(len(entrants)))
        made = 0
        for rung in self._rungs(len(entrants)) if entrants else ():
            made += await self._meet([entrants[index] for index in racing], order[rung.start : rung.end], rung.look)
            kept = survivors({index: entrants[index].total for index in racing}, rung.keep)
            for index in set(racing) - set(kept):
                self._close(entrants[index])
            racing = kept
        for index in racing:
            self._close(entrants[index])
        self.calls += made
        self.calls_saved += self.examiner.calls_for(len(self.problems) * len(entrants)) - made

    async def _meet(self, contenders: Sequence[Contender], places: Sequence[int], look: int) -> int:
        """A rung: one wave."""
        wave = self.numbering.next_wave()
        questions = [(f"p{place}", self.problems[place]) for place in places]
        first_sample = look * self.settings.samples
        papers = [Paper(one.unit, one.name, one.genome.prompt, questions, wave, first_sample) for one in contenders]
        problems = [self.problems[place] for place in places]
        for contender, marks in zip(contenders, await self.examiner.mark(papers), strict=True):
            contender.take(marks, problems, self._weights)
        return self.examiner.calls_for(len(papers) * len(places))

    def _rungs(self, genomes: int) -> tuple[Rung, ...]:
        return rungs(len(self.problems), genomes, self.settings.racing)

    def _close(self, contender: Contender) -> None:
        if self._chronicle and not contender.unit.settled:
            self._chronicle.tell_genome(contender.genome, contender)
        self.tide.close_unit(contender.unit, None if contender.fitness else NOTHING_ANSWERED)

    def _tell(self, genomes: Sequence[Genome], generation: int, entrants: Sequence[Contender]) -> None:
        population = [self.known[genome.prompt] for genome in genomes]
        known = [one.total for one in population if one.total is not None]
        prompts = [genome.prompt for genome in genomes]
        leader = self.leader()
        told = Generation(
            generation,
            best=leader.total or 0.0,
            mean=fmean(known) if known else 0.0,
            diversity=mean_distance(prompts, self.stream("diversity", generation)),
            calls=self.calls - self._calls_told,
        )
        self._calls_told = self.calls
        self.history.append(told)
        if self._chronicle:
            for genome, contender in zip(genomes, population, strict=True):
                if genome.generation == generation and genome is not contender.genome:
                    self._chronicle.tell_genome(genome, contender)
            missing = fmean(entrant.missing for entrant in entrants) if entrants else 0.0
            self._chronicle.tell_generation(told, leader, missing, new=any(not one.unit.settled for one in entrants))


def _scores(contenders: Sequence[Contender]) -> list[float]:
    return comparable(
        [one.total for one in contenders], [one.fitness.replies if one.fitness else 0 for one in contenders]
    )
