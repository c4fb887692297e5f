"""Search over parameters with scikit-learn, scored by the places of a ranking."""

from __future__ import annotations

from sklearn.model_selection import GridSearchCV

import tacit
from tacit.data.synthetic import make_dataset


def precision_at_3(model: tacit.OneVsAll, X, Y) -> float:
    """What `GridSearchCV` calls to score a fitted model on held-out samples."""
    return tacit.evaluate(model.rank(X, k=3), Y, ks=(3,))["P@3"]


data = make_dataset(n_samples=600, n_features=800, n_labels=60, seed=0)
search = GridSearchCV(tacit.OneVsAll(), {"C": [0.05, 0.25, 1.0]}, scoring=precision_at_3, cv=3)
search.fit(data.X[data.train], data.Y[data.train])
for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(f"{parameters}: P@3 {score:.3f}")
print(f"best: {search.best_params_}")
