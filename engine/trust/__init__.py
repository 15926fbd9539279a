"""Trust is stored outside study files: which batches the user created here, and what a file must not decide."""
