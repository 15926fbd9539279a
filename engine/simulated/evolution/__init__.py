"""The simulated solver and rewriter of prompts, on a landscape that is written down."""
