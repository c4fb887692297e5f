"""Modules that wait until they are used."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from tacit.cli.startup import quick_start
with quick_start(("scipy.stats", "json.tool", "no_such_module")):
    import scipy.stats
    assert "scipy.stats._stats_py" not in sys.modules
    import sklearn.base
    import json.tool
    try: import no_such_module
    except ImportError: pass
    else: raise AssertionError
    deferred = scipy.stats
assert "scipy.stats._stats_py" not in sys.modules
import scipy.stats
assert scipy.stats is deferred is sys.modules["scipy.stats"]
assert scipy.stats.norm.cdf(0.0) == 0.5
assert "scipy.stats._stats_py" in sys.modules
assert type(scipy.stats) is type(sys)
from scipy.stats import rankdata
assert list(rankdata([3, 1, 2])) == [3, 1, 2]
assert callable(json.tool.main)
assert not hasattr(json.tool, "no_such_name")
import wave
assert type(wave).__name__ == "module"
"""


def test_modules_wait_until_they_are_used():
    subprocess.run([sys.executable, "-W", "error", "-c", CODE], check=True, timeout=60)


def test_threads_that_need_a_module_at_once():
    code = """
import sys, threading
from tacit.cli.startup import quick_start
with quick_start(("fractions",)):
    import fractions
found = []
def use(): found.append(fractions.Fraction(1, 2))
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert found == [fractions.Fraction(1, 2)] * 8, found
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


def test_what_is_there_already_stays():
    import json

    from tacit.cli.startup import quick_start

    with quick_start(("json",)):
        import json as again
    assert again is json is sys.modules["json"]
