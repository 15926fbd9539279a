"""Exports of a batch: file formats, HTML, Markdown, and SVG figures."""
