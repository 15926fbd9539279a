"""Reads the answer of a reply and scores it, by the kind of answer: a number, a choice, a label, words."""
