"""What each kind of study has to show, as blocks that any screen can lay out: words, tables, figures, heat maps."""
