"""The terminal app: its screens, the file it reads, and its helper processes."""
