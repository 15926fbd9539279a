"""Folders to make something in that is seen only when it is whole, and what becomes of those that a crash left."""
