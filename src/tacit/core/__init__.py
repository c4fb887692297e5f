"""What every model shares: estimators, parameters, checks, labels, features, rankings."""
