"""What `tidepool bench` measures: this machine, and what waves gain for a study of one's own."""
