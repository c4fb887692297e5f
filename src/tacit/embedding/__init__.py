"""Samples embedded by their labels, features regressed onto the embedding, labels voted by near samples."""
