"""Studies that stop when they are sure: when to look, what is seen, and how far units may run ahead of a look."""
