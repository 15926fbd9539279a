"""Every screen at every size and in every dress."""
