"""What command and app draw alike: charts, heat maps, words for numbers, plain text out of foreign text."""
