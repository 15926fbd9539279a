"""What came out of a batch: the JSON summary, comparisons, and reports as blocks that every medium draws."""
