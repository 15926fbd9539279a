"""Query mutation: learns which rewriting of a question improves a target's answer."""
