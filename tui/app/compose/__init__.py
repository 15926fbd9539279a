"""A study being written: its fields, text, faults and plan, apart from any screen."""
