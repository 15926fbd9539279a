"""What screens are made of: lists of any length, plots, transcripts, gauges."""
