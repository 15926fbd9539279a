"""What a reply answers and whether that is right, by the kind of answer: a number, a choice, a label, words."""
