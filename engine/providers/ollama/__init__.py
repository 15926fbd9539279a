"""Ollama: one's own machines."""
