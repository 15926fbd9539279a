"""The results of a batch: the JSON summary, comparisons, and reports as blocks for every medium."""
