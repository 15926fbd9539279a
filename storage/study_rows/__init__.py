"""What each kind of study keeps in tables of its own."""
