from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from tacit.cli.startup import postpone
postpone(("scipy.stats", "json.tool", "no_such_module", "scipy.stats"))
import scipy.stats
assert "scipy.stats._stats_py" not in sys.modules
assert not hasattr(scipy.stats, "__file__")
import sklearn.base
assert "scipy.stats._stats_py" not in sys.modules
assert scipy.stats.norm.cdf(0.0) == 0.5
assert "scipy.stats._stats_py" in sys.modules
from scipy.stats import rankdata
assert list(rankdata([3, 1, 2])) == [3, 1, 2]
import json.tool
assert callable(json.tool.main)
"""


def test_modules_wait_until_they_are_used():
    subprocess.run([sys.executable, "-W", "error", "-c", CODE], check=True, timeout=60)


def test_what_is_there_already_stays():
    import json

    from tacit.cli.startup import postpone

    postpone(("json",))
    assert sys.modules["json"] is json
