"""Pictures of the app for README and docs."""
