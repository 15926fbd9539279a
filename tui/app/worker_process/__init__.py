"""Work that would hold up the event loop is done beside the app, in a process of its own: plots and statistics."""
