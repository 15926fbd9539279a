"""Anthropic: live calls and message batches."""
