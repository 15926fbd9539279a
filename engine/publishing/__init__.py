"""A study out into the world, and somebody else's run again: a folder to publish, and `--run FILE.db#BATCH`."""
