"""Two agents argue a motion, and a judge names the winner. Run it with `tidepool run debate.py --set motion="…"`."""

import tidepool as tp


class Debate(tp.Study):
    """Who wins a debate?"""

    motion: str
    rounds: int = 3
    judge: str = "simulated:judge"
    agents = [tp.Agent("Ada", "simulated:guarded"), tp.Agent("Bob", "simulated:trusting")]
    measures = [tp.share("won", "debates won", of="agent")]

    def units(self) -> tp.Units:
        return tp.round_robin(self.agents, repeats=20)

    async def play(self, unit: tp.Unit) -> None:
        transcript: list[tp.Said[None]] = []
        for turn in range(2 * self.rounds):
            side = "for" if turn % 2 == 0 else "against"
            reply = await unit.ask(unit.agents[turn % 2], transcript, system=f"Argue {side}: {self.motion}")
            transcript.append(reply)
        names = [agent.name for agent in unit.agents]
        verdict = await unit.ask(self.judge, transcript, system="Who argued better?", answer=names)
        for agent in unit.agents:
            unit.measure(won=verdict.answer == agent.name, of=agent)
