"""Provider batches: assembled of waves, bought exactly once, followed to their end, found again after a crash."""
