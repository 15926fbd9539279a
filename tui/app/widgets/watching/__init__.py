"""What Watch shows: the wavefront, the finding, the waves, the pace, the hands and the log."""
