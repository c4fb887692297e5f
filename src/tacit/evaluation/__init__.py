"""Metrics, bands of label frequency and propensities."""
