"""Queries of a study file for screens, commands and reports."""
