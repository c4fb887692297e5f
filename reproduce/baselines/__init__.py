"""Baselines of the papers' tables: estimators with the library's interface that its registry does not list."""
