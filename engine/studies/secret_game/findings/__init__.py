"""What came out of a secret game, from the file alone: counts, shares, agreement of the detectors, verdicts."""
