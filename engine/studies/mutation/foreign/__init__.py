"""A study whose learner is a program outside: `tidepool.make_env`."""
