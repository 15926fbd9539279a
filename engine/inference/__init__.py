"""Intervals, tests and quantiles as pure functions, each tested against a reference."""
