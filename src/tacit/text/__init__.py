"""Texts become features: words, n-grams, vectors."""
