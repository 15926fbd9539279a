"""Very many conversations in one batch: made once, and read by everything that reads a batch."""
