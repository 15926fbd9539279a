"""A running batch: `ask`, units, exact waves, live calls, limits, budget, provider batches, Ray workers, steering."""
