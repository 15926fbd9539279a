"""Far hands, at length: killed one after another, and measured."""
