"""Config sections, loading, checks, freezing, model presets, and the reference of all keys."""
