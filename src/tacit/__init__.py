"""Extreme multi-label learning where labels are missing, rare or unseen."""
