from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import TacitError
from tacit.kernels.aligned import aligned_zeros
from tacit.numerics import storage
from tacit.runtime.memory import data_bytes, memory_limit

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no limit on memory")


@only_linux
def test_an_array_beyond_the_limit_is_an_error_and_the_limit_is_lifted_again():
    limit = memory_limit(data_bytes() + (200 << 20))
    with pytest.raises(TacitError, match="more than the allowed .* of memory is needed; allow more"), limit:
        np.ones(400 << 17)
    assert np.ones(400 << 17)[-1] == 1


def grow():
    held = []
    while True:
        held.append(np.ones(1 << 12))


@only_linux
def test_the_limit_holds_in_any_thread():
    def run():
        with pytest.raises(TacitError, match="more than the allowed"), memory_limit(data_bytes() + (200 << 20)):
            grow()
        return "refused"

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(run).result() == "refused"


@only_linux
def test_an_error_that_got_lost_is_repeated():
    def grow_on():
        with contextlib.suppress(MemoryError):
            grow()
        grow()

    with pytest.raises(TacitError, match="more than the allowed"), memory_limit(data_bytes() + (200 << 20)):
        grow_on()


@only_linux
def test_a_limit_below_what_is_held_already_is_refused():
    message = "1.0 MB of memory is too little: this process holds .* allow at least"
    with pytest.raises(TacitError, match=message), memory_limit(1 << 20):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("shape", [(0, 3), (3,), (5, 7), (100, 32)])
def test_arrays_begin_with_a_cache_line(shape, tmp_path):
    zeros = aligned_zeros(shape, np.float32)
    np.testing.assert_array_equal(zeros, np.zeros(shape, np.float32), strict=True)
    with storage.large_on_disk(tmp_path, least_bytes=100):
        for array in (zeros, storage.new_array(zeros.size, np.float32)):
            assert array.size == 0 or array.ctypes.data % 64 == 0
            assert array.flags.writeable


def test_room_is_on_disk_only_where_it_is_asked_for(tmp_path):
    assert isinstance(storage.new_array(10, np.float32), np.ndarray)
    plain = np.arange(5)
    assert storage.to_disk(plain) is plain
    with storage.large_on_disk(tmp_path, least_bytes=100):
        small, large = storage.new_array(24, np.float32), storage.new_array(25, np.float32)
        moved = storage.to_disk(plain)
    assert not isinstance(small.base, np.memmap)
    assert isinstance(large.base, np.memmap)
    large[:] = 3
    np.testing.assert_array_equal(large, np.full(25, 3, np.float32))
    np.testing.assert_array_equal(moved, plain)
    assert moved.flags.writeable  # kernels would be compiled again for read-only arrays
    assert not list(tmp_path.iterdir())  # the files have no name


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", refuse, raising=False)
    with storage.large_on_disk(tmp_path, 1), pytest.raises(TacitError, match="cannot be written .No space left"):
        storage.new_array(10, np.float64)


@only_linux
def test_features_may_be_larger_than_memory(tmp_path):
    """A training under a real limit, in a process of its own; its model is compared with that of one without limit."""
    script = Path(__file__).parents[1] / "larger_than_memory.py"
    ran = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["features"] > found["allowed"]
    assert "more than the allowed" in found["without_disk"]
