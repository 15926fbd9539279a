"""One batch as JSON, CSV, Parquet or a study file of its own, page by page."""
