"""The engine: `ask` and what stands behind it, the providers and the four kinds of study."""
