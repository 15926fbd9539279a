"""Study files from other people: forged ones, and what every command makes of each."""
