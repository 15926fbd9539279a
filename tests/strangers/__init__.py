"""Study files as a stranger might send them, and what every command makes of each."""
