"""Ollama: one's own machines, several servers as one pool."""
