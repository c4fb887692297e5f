"""Modules that scikit-learn imports and commands do not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def _run(code: str, *folders: Path) -> None:
    path = os.pathsep.join([*map(str, folders), *filter(None, sys.path)])
    command = [sys.executable, "-W", "error", "-c", f"from tacit.cli.startup import quick_start\n{code}"]
    subprocess.run(command, check=True, timeout=60, env=os.environ | {"PYTHONPATH": path})


def test_suggest_starts_without_statistics_and_frames():
    _run("""
import gc, sys
with quick_start():
    import tacit.cli.suggest_command, tacit.tagger.tagger
assert gc.isenabled()
assert not {"pandas", "scipy.stats"} & set(sys.modules)
import pandas, scipy, sklearn.utils.fixes, sklearn.isotonic
assert sklearn.utils.fixes.scipy.stats.norm.cdf(0.0) == 0.5
assert list(sklearn.utils.fixes._mode([1, 1, 2])[0]) == [1]
from sklearn.preprocessing import MinMaxScaler
assert list(MinMaxScaler().fit(pandas.DataFrame({"a": [1, 2]})).feature_names_in_) == ["a"]
""")
