"""Simulated players and the judge of the secret game."""
