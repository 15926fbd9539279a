"""Query mutation: learning which rewriting of a question makes a target answer better."""
