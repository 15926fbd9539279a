"""Several servers as one, and several endpoints in one study."""
