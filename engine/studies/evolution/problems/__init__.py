"""Problems and answers: files, built-in sets, and the reading of answers."""
