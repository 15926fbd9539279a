"""The file's tables, its views with the meaning of each column, the text of every version, and the steps between them."""
