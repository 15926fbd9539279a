"""The command line: arguments, progress and summaries."""
