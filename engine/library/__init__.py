"""Entities, entity types and agents of a file: read, generated, and taken into studies by id."""
