"""The logic of composing a study, without screens: its fields, text, errors and plan."""
