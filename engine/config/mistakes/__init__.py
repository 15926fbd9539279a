"""Slips of whoever writes a config: each is told with its line, and how it is written."""
