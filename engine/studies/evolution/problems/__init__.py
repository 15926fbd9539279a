"""Problems and answers: files, built-in sets, and what a reply answers."""
