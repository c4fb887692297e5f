"""Linear models: one weight vector per label."""
