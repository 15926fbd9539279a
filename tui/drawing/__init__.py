"""What command and app draw alike: blocks, figures, heat maps, words for numbers, plain text out of foreign text."""
