"""Whether the statistics hold: intervals and tests over thousands of planted tables, and through the whole program."""
