from __future__ import annotations

import asyncio
import threading

import pytest

from tacit.server.batching import Lane
from tacit.server.problems import Problem


class Work:
    """Doubles numbers once it may; notes which came together."""

    def __init__(self):
        self.may_go = threading.Event()
        self.batches = []

    def __call__(self, jobs):
        self.batches.append(list(jobs))
        assert self.may_go.wait(30)
        return [ValueError(f"no {job}") if job < 0 else 2 * job for job in jobs]


def lane_of(work, max_together=3, max_waiting=5, timeout=30.0):
    return Lane(work, max_together, max_waiting, timeout)


async def begun(work):
    """Wait until the first batch is being done."""
    while not work.batches:
        await asyncio.sleep(0)


def test_jobs_that_come_meanwhile_are_done_together_in_order():
    async def main():
        work = Work()
        lane = lane_of(work)
        first = asyncio.create_task(lane.submit(1))
        await begun(work)
        others = [asyncio.create_task(lane.submit(job)) for job in (2, -3, 4, 5)]
        await asyncio.sleep(0)
        assert lane.n_waiting == 4
        work.may_go.set()
        results = await asyncio.gather(first, *others, return_exceptions=True)
        assert [result for result in results if not isinstance(result, Exception)] == [2, 4, 8, 10]
        assert str(results[2]) == "no -3"
        assert work.batches == [[1], [2, -3, 4], [5]]
        assert lane.n_waiting == 0
        await lane.close()

    asyncio.run(main())


def test_sizes_count_and_a_large_job_goes_alone():
    async def main():
        work = Work()
        work.may_go.set()
        lane = lane_of(work, max_together=3, max_waiting=50)
        await asyncio.gather(lane.submit(1, 1), lane.submit(2, 10), lane.submit(3, 2), lane.submit(4, 1))
        assert work.batches == [[1], [2], [3, 4]]
        await lane.close()

    asyncio.run(main())


def test_a_full_queue_turns_away_and_recovers():
    async def main():
        work = Work()
        lane = lane_of(work)
        first = asyncio.create_task(lane.submit(1))
        await begun(work)
        waiting = [asyncio.create_task(lane.submit(job)) for job in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="too many requests are queued") as refused:
            await lane.submit(9)
        assert refused.value.status == 429
        assert refused.value.headers == {"Retry-After": "1"}
        work.may_go.set()
        await asyncio.gather(first, *waiting)
        assert await lane.submit(9) == 18
        await lane.close()

    asyncio.run(main())


def test_waiting_has_an_end_but_what_was_begun_is_finished():
    async def main():
        work = Work()
        lane = lane_of(work, timeout=0.02)
        first, late = asyncio.create_task(lane.submit(1)), asyncio.create_task(lane.submit(2, 3))
        await begun(work)
        await asyncio.sleep(0.05)
        work.may_go.set()
        assert await first == 2
        with pytest.raises(Problem, match=r"was queued for 0.02 s") as refused:
            await late
        assert refused.value.status == 503
        assert work.batches == [[1]]
        await lane.close()

    asyncio.run(main())


def test_jobs_that_nobody_waits_for_are_not_done():
    async def main():
        work = Work()
        lane = lane_of(work)
        first = asyncio.create_task(lane.submit(1))
        await begun(work)
        gone, stays = asyncio.create_task(lane.submit(2)), asyncio.create_task(lane.submit(3))
        await asyncio.sleep(0)
        gone.cancel()
        work.may_go.set()
        assert await stays == 6
        assert await first == 2
        assert work.batches == [[1], [3]]
        await lane.close()

    asyncio.run(main())


def test_closing_finishes_what_waits():
    async def main():
        work = Work()
        lane = lane_of(work)
        tasks = [asyncio.create_task(lane.submit(job)) for job in (1, 2, 3, 4)]
        await begun(work)
        work.may_go.set()
        await lane.close()
        assert await asyncio.gather(*tasks) == [2, 4, 6, 8]

    asyncio.run(main())


def test_a_broken_batch_is_told_to_all_and_the_lane_lives():
    async def main():
        calls = []

        def work(jobs):
            calls.append(jobs)
            if len(calls) == 1:
                raise RuntimeError("broken")
            return jobs

        lane = lane_of(work)
        results = await asyncio.gather(lane.submit(1), lane.submit(2), return_exceptions=True)
        assert [str(result) for result in results] == ["broken", "broken"]
        assert await lane.submit(3) == 3
        await lane.close()

    asyncio.run(main())
