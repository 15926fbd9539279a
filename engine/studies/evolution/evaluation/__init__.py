"""How prompts are judged: problems asked in rungs, replies marked, fitness, the final exam."""
