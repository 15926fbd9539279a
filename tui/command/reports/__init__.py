"""What each kind of study prints."""
