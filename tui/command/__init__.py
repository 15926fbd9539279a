"""The command line: what it parses, how it shows progress and summaries."""
