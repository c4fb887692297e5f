"""Numerics of several models: sparse rows, ridge regression, linear classifiers, logistic curves, L-BFGS, idf."""
