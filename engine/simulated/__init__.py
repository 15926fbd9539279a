"""The embedded provider: offline, deterministic by seed, labelled as simulated wherever it shows."""
