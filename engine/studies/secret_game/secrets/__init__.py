"""Whether the secrets of a study can be measured, before anything is run."""
