"""What a file from somebody else must not be able to do."""
