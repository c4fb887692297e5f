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
from typing import Generic, TypeVar

from tacit.server.problems import Problem, busy

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class _Waiting(Generic[Job, Result]):
    job: Job
    size: int
    done: asyncio.Future[Result]


class Lane(Generic[Job, Result]):
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
        Seconds that a job may be queued before it starts; after that it raises a `Problem` with status 503.
    """

    def __init__(
        self,
        do: Callable[[Sequence[Job]], Sequence[Result | Exception]],
        max_together: int,
        max_waiting: int,
        timeout: float,
    ) -> None:
        self._do = do
        self._max_together = max_together
        self._max_waiting = max_waiting
        self._timeout = timeout
        self._waiting: deque[_Waiting[Job, Result]] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tacit-lane")
        self.n_waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether a further job of any size would be rejected."""
        return self.n_waiting >= self._max_waiting

    async def submit(self, job: Job, size: int = 1) -> Result:
        """Queue a job and wait for its result."""
        if self._waiting and self.n_waiting + size > self._max_waiting:
            raise busy("too many requests are queued for this model; try again in a moment")
        loop = asyncio.get_running_loop()
        entry: _Waiting[Job, Result] = _Waiting(job, size, loop.create_future())
        self._waiting.append(entry)
        self.n_waiting += size
        if self._runner is None:
            self._runner = loop.create_task(self._run())
        deadline = loop.call_later(self._timeout, self._give_up, entry)
        try:
            return await entry.done
        finally:
            deadline.cancel()

    async def close(self) -> None:
        """Finish the queued jobs, then stop the thread."""
        if self._runner is not None:
            await self._runner
        self._thread.shutdown()

    def _give_up(self, entry: _Waiting[Job, Result]) -> None:
        """Fail a job that was queued for too long; a job that has started is allowed to finish."""
        if entry in self._waiting:
            self._waiting.remove(entry)
            self.n_waiting -= entry.size
            if not entry.done.done():
                detail = f"the request was queued for {self._timeout:g} s and not started; try again later"
                entry.done.set_exception(Problem(503, detail, retry_after=max(1, round(self._timeout))))

    def _take(self) -> list[_Waiting[Job, Result]]:
        """The next batch."""
        batch: list[_Waiting[Job, Result]] = []
        size = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= self._max_together):
            entry = self._waiting.popleft()
            self.n_waiting -= entry.size
            if not entry.done.done():  # otherwise its client is gone
                batch.append(entry)
                size += entry.size
        return batch

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._take():
            jobs = [entry.job for entry in batch]
            try:
                results = await loop.run_in_executor(self._thread, self._do, jobs)
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
