"""The library of a file as its screen shows it: pure functions of what is stored."""
