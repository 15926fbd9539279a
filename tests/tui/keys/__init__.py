"""Keys and colours."""
