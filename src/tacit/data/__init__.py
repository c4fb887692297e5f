"""Reading and writing data sets in all formats; vocabularies, splits, synthetic data and public data sets."""
