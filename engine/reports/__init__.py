"""The parts of reports, independent of the medium: blocks, figures and comparisons over seeds."""
