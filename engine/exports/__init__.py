"""A batch out of the file for other programs and people: formats, HTML, Markdown, SVG drawings."""
