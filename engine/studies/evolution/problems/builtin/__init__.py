"""The built-in problem sets: arithmetic, logic, strings."""
