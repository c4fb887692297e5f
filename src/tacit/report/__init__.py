"""Reports on the quality of a model, each one self-contained HTML file."""
