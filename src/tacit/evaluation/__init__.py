"""Metrics, bands of label frequency, propensities, and comparisons of models."""
