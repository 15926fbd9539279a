"""Publishes a study as a dataset folder, and runs a published study again with `tidepool run FILE.db#BATCH`."""
