"""Data in and out: any format to a Dataset and back, splits, synthetic data, public data sets."""
