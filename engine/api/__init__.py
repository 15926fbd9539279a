"""The HTTP API: create, follow, export and delete batches of simulations."""
