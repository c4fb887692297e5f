"""Modules that wait until they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def _run(code: str, *folders: Path) -> None:
    path = os.pathsep.join([*map(str, folders), *filter(None, sys.path)])
    command = [sys.executable, "-W", "error", "-c", code]
    subprocess.run(command, check=True, timeout=60, env=os.environ | {"PYTHONPATH": path})


def test_modules_wait_until_they_are_used():
    _run(CODE)


def test_threads_that_need_a_module_at_once(tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.3)\nANSWER = 42\n")
    code = """
import threading
from tacit.cli.startup import quick_start
with quick_start(("slow",)):
    import slow
found = []
def use(): found.append(slow.ANSWER)
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert found == [42] * 8, found
"""
    _run(code, tmp_path)


def test_a_module_whose_code_fails_says_so_each_time(tmp_path):
    (tmp_path / "broken.py").write_text("raise OSError('no such device')\n")
    code = """
from tacit.cli.startup import quick_start
with quick_start(("broken",)):
    import broken
for _ in range(2):
    try: broken.ANSWER
    except OSError: pass
    else: raise AssertionError
"""
    _run(code, tmp_path)


def test_what_is_there_already_stays():
    import json

    from tacit.cli.startup import quick_start

    with quick_start(("json",)):
        import json as again
    assert again is json is sys.modules["json"]
