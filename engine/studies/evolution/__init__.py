"""Prompt evolution: a population of prompts gets better at a set of problems."""
