"""Power before a run: the expected precision of a planned study, and the size that a difference needs."""
