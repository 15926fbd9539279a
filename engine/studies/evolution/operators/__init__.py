"""How prompts are bred: selection, crossover, mutation without a model, rewrites by one."""
