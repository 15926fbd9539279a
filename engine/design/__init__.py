"""Trust lives outside the file: which servers and batches this machine knows, and where it keeps that."""
