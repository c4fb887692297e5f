"""The papers as printed: their tables and figures, and the baselines in them."""
