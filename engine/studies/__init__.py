"""The kinds of study, each a folder with the same outline: who learned one knows four."""
