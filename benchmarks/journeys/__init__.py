"""A person's way through the app with a study of each kind: by keys or mouse, in a real terminal or a real browser."""
