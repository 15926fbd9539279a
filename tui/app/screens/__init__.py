"""The six screens of the app."""
