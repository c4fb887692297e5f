"""A Probabilistic Framework for Zero-Shot Multi-Label Learning (Gaure, Gupta, Verma, Rai)."""
