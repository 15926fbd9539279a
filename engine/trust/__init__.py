"""Trust is stored outside study files: which batches are the user's own, and what a file may and may not decide."""
