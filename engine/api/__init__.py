"""The HTTP API: batches of simulations to create, follow, export and delete."""
