"""Limits against servers that enforce them, are slower than they look, or go away."""
