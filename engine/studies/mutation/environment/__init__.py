"""What a learner acts in: episodes, their calls, encoders and rewards."""
