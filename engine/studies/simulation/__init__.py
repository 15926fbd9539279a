"""Entity simulations: personas, combined, talk in a shared context."""
