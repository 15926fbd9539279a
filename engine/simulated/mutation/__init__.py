"""The simulated target, rewriter, judge and encoder of query mutation."""
