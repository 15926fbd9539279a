"""Prompt evolution: improves a population of prompts on a set of problems."""
