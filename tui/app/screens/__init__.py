"""The six modes and the dialogs over them."""
