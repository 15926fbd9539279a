"""Batches out of a study file and into another: exports, imports, copies."""
