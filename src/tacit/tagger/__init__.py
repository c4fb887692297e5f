"""Text in, names out."""
