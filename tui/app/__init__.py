"""The terminal app: modes, the file it watches, the processes beside it."""
