"""Pieces of reports that have no medium: blocks, figures, comparisons over seeds."""
