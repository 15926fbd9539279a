"""Runs a batch: `ask`, units, waves, live requests, limits, budget, provider batches, Ray workers, control."""
