"""What an evolution leaves in the file, under which names, and how its family and its champion are read back."""
