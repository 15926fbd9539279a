"""Intervals, tests and quantiles as pure functions, each held to a reference in its tests."""
