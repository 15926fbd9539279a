"""The sections of a config, how one is loaded, checked and frozen, model presets, and the reference of all keys."""
