"""The widgets of the screens: lists of any length, plots, transcripts, gauges."""
