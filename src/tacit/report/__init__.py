"""What a model is worth, as one HTML file that needs nothing else."""
