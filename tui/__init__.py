"""Two doors over one floor: the command line and the app, both on the same drawing."""
