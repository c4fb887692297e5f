"""Jobs that arrive together are run as a batch, by one thread, in order of arrival.

While one batch runs the next one is collected: the busier the service, the larger its batches and the less each job
costs. No job waits for a batch to fill.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tacit.server.problems import Problem


@dataclass(frozen=True, eq=False)
class _Waiting:
    job: Any
    size: int
    deadline: float
    done: asyncio.Future[Any]


class Lane:
    """A queue with a limit, and the thread that serves it.

    Parameters
    ----------
    do : function
        Runs a batch of jobs and returns, for each, its result or an exception.
    max_together : int
        Maximum size of a batch; a job larger than that is a batch of its own.
    max_waiting : int
        Maximum sum of the sizes of queued jobs; a further job raises a `Problem` with status 429.
    timeout : float
        Seconds that a job may be queued; if its turn comes later, it raises a `Problem` with status 503.
    """

    def __init__(
        self, do: Callable[[Sequence[Any]], Sequence[Any]], max_together: int, max_waiting: int, timeout: float
    ) -> None:
        self._do = do
        self._max_together = max_together
        self._max_waiting = max_waiting
        self._timeout = timeout
        self._waiting: deque[_Waiting] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tacit-lane")
        self.n_waiting = 0

    async def submit(self, job: Any, size: int = 1) -> Any:
        """Queue a job and wait for its result."""
        if self._waiting and self.n_waiting + size > self._max_waiting:
            detail = "too many requests are queued for this model; try again in a moment"
            raise Problem(429, detail, headers={"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        entry = _Waiting(job, size, loop.time() + self._timeout, loop.create_future())
        self._waiting.append(entry)
        self.n_waiting += size
        if self._runner is None:
            self._runner = loop.create_task(self._run())
        return await entry.done

    async def close(self) -> None:
        """Finish the queued jobs, then stop the thread."""
        if self._runner is not None:
            await self._runner
        self._thread.shutdown()

    def _take(self, now: float) -> list[_Waiting]:
        """The next batch."""
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= self._max_together):
            entry = self._waiting.popleft()
            self.n_waiting -= entry.size
            if entry.done.done():  # its client is gone
                continue
            if entry.deadline < now:
                detail = f"the request was queued for {self._timeout:g} s and not started; try again later"
                entry.done.set_exception(Problem(503, detail, headers={"Retry-After": "10"}))
                continue
            batch.append(entry)
            size += entry.size
        return batch

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._take(loop.time()):
            try:
                results = await loop.run_in_executor(self._thread, self._do, [entry.job for entry in batch])
            except Exception as error:  # noqa: BLE001 - goes to everyone in the batch
                results = [error] * len(batch)
            for entry, result in zip(batch, results, strict=True):
                if entry.done.done():
                    continue
                if isinstance(result, Exception):
                    entry.done.set_exception(result)
                else:
                    entry.done.set_result(result)
        self._runner = None
