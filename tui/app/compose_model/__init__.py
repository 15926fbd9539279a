"""A study being written: the draft, its fields, its faults, its plan, apart from any screen."""
