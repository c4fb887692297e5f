"""Leveraging Distributional Semantics for Multi-Label Learning (Wadbude, Gupta, Rai, Natarajan, Karnick, Jain)."""
