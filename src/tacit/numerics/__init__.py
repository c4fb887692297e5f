"""Numerics that models share: rows of sparse matrices, ridge regression, classifiers, logistic curves, weights."""
