"""Studies of several batches: factors crossed into cells, run side by side, and effects and hypotheses over them."""
