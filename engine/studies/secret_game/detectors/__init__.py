"""How a secret is found in a message: said, spelled, encoded, misspelt, or judged by a model."""
