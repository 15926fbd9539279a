"""The embedded provider: offline, deterministic by seed, and labelled as simulated wherever its results appear."""
