"""What came out of a batch: the JSON summary, comparisons, reports."""
