"""Labels never seen in training, predicted from how often they occur with labels that were."""
