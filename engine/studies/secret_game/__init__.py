"""The secret game: agents with secrets talk in pairs; who reveals, who obtains."""
