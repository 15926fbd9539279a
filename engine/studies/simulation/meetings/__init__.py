"""Who meets whom: the combinations of a batch, and the order in which they are dealt."""
