"""Hand coding: a blinded sample of a batch, the coders' codes, their agreement, and the corrected rates."""
