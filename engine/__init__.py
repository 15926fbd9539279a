"""The engine: `ask` and its implementation, the providers, and the four kinds of study."""
