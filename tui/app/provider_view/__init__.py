"""The providers as their screen shows them: pure functions of settings, lists and answers."""
