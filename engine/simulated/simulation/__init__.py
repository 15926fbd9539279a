"""Simulated personas and the judge of talks."""
