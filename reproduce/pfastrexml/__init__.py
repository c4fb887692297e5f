"""Extreme Multi-label Loss Functions, supplementary (Jain, Prabhu, Varma)."""
