"""A running batch: `ask`, units, exact waves, live calls, limits, budget, accounts, and how it is stopped and steered."""
