"""Names of labels as evidence: found in texts, and weighed against what a model says."""
