"""The text of every version of the file, its views with the meaning of each column, and the page that tells them."""
