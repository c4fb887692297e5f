from __future__ import annotations

import asyncio
import threading

import pytest

from tacit.server.batching import Lane
from tacit.server.problems import Problem

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Work:
    """Doubles numbers once it may; notes which came together."""

    def __init__(self):
        self.may_go = threading.Event()
        self.batches = []

    def __call__(self, jobs):
        self.batches.append(list(jobs))
        assert self.may_go.wait(30)
        if "break" in jobs:
            raise RuntimeError("broken")
        return [ValueError(f"no {job}") if job < 0 else 2 * job for job in jobs]


async def busy_with_one(max_waiting=5, timeout=30.0):
    """A lane whose thread works on its first job, that job, and the work."""
    work = Work()
    lane = Lane(work, max_together=3, max_waiting=max_waiting, timeout=timeout)
    first = asyncio.create_task(lane.submit(1))
    while not work.batches:
        await asyncio.sleep(0)
    return lane, first, work


async def submitted(lane, *jobs):
    tasks = [asyncio.create_task(lane.submit(*job)) for job in jobs]
    await asyncio.sleep(0)
    return tasks


async def test_jobs_that_come_meanwhile_are_done_together_in_order():
    lane, first, work = await busy_with_one()
    others = await submitted(lane, (2,), (-3,), (4,), (5,))
    assert lane.n_waiting == 4
    work.may_go.set()
    results = await asyncio.gather(first, *others, return_exceptions=True)
    assert [result for result in results if not isinstance(result, Exception)] == [2, 4, 8, 10]
    assert str(results[2]) == "no -3"
    assert work.batches == [[1], [2, -3, 4], [5]]
    assert lane.n_waiting == 0


async def test_sizes_count_and_a_large_job_goes_alone():
    lane, first, work = await busy_with_one(max_waiting=50)
    others = await submitted(lane, (2, 10), (3, 2), (4, 1))
    work.may_go.set()
    await asyncio.gather(first, *others)
    assert work.batches == [[1], [2], [3, 4]]


async def test_a_full_queue_rejects_and_recovers():
    lane, first, work = await busy_with_one()
    waiting = await submitted(lane, *((job,) for job in range(5)))
    with pytest.raises(Problem, match="too many requests are queued") as refused:
        await lane.submit(9)
    assert refused.value.status == 429
    assert refused.value.headers == {"Retry-After": "1"}
    work.may_go.set()
    await asyncio.gather(first, *waiting)
    assert await lane.submit(9) == 18


async def test_a_job_whose_turn_comes_too_late_or_whose_client_is_gone_is_not_done():
    lane, first, work = await busy_with_one(timeout=0.02)
    late, gone = await submitted(lane, (2,), (3,))
    gone.cancel()
    await asyncio.sleep(0.05)
    work.may_go.set()
    assert await first == 2
    with pytest.raises(Problem, match=r"was queued for 0.02 s") as refused:
        await late
    assert refused.value.status == 503
    assert work.batches == [[1]]


async def test_closing_finishes_what_waits():
    lane, first, work = await busy_with_one()
    tasks = await submitted(lane, (2,), (3,), (4,))
    work.may_go.set()
    await lane.close()
    assert await asyncio.gather(first, *tasks) == [2, 4, 6, 8]


async def test_an_error_of_a_batch_goes_to_all_its_jobs_and_the_lane_lives():
    lane, first, work = await busy_with_one()
    others = await submitted(lane, ("break",), (2,))
    work.may_go.set()
    results = await asyncio.gather(first, *others, return_exceptions=True)
    assert [str(result) for result in results[1:]] == ["broken", "broken"]
    assert await lane.submit(3) == 6
