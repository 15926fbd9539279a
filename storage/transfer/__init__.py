"""Moves batches out of and into study files: exports, imports, copies."""
