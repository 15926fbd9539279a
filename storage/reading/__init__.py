"""What screens, commands and reports read of the file: short queries, pages and search, each bounded in what it returns."""
