"""Forms made from the sections of a config."""
