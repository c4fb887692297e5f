"""The service under load, on loopback, on a model of EURLEX57K.

Usage: ``TACIT_DATA=… python -m benchmarks.service [MODEL] [--seconds 60]``. MODEL is a tagger trained on the training
texts of EURLEX57K, which is done first if none is given. Client and server share the machine. All answers are compared
with those of `Tagger.suggest`. CPU time is that of the service alone; other work on the machine changes it little.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import tacit

FIELDS = ("title", "header", "recitals", "main_body")
N_TEXTS = 500
N_CLIENTS = 50
N_SINGLE = 400
K = 5


@dataclass
class Tally:
    """What happened to the requests of a run."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    n_wrong: int = 0

    def __str__(self) -> str:
        p50, p99 = np.percentile(self.latencies, [50, 99]) * 1000 if self.latencies else (np.nan, np.nan)
        statuses = ", ".join(f"{status}: {n:,}" for status, n in sorted(self.statuses.items()))
        return (
            f"{len(self.latencies) / self.seconds:,.0f} answers/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms; "
            f"statuses {statuses}; wrong answers {self.n_wrong}"
        )


def texts_of_the_test_set(folder: Path) -> list[str]:
    """Real texts, as long as they are."""
    with gzip.open(folder / "eurlex57k" / "test.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(next(lines)) for _ in range(N_TEXTS)]
    parts = ([record[name] for name in FIELDS] for record in records)
    return ["\n".join("\n".join(part) if isinstance(part, list) else part for part in found) for found in parts]


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        return int(head[9:12]), await reader.readexactly(int(length[1]))

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


@dataclass
class Load:
    """Requests for real texts, and the answers that are right."""

    port: int
    requests: list[bytes]
    answers: list[bytes]

    async def one(self, client: Client, number: int, tally: Tally) -> None:
        """Ask once and note what came."""
        place = number % len(self.requests)
        start = time.perf_counter()
        try:
            status, body = await client.ask(self.requests[place])
        except (OSError, asyncio.IncompleteReadError):  # hung up on
            status, body = 0, b""
            client.close()
        tally.statuses[status] += 1
        if status == 200:
            tally.latencies.append(time.perf_counter() - start)
            tally.n_wrong += body != self.answers[place]

    async def steady(self, n_clients: int, seconds: float) -> Tally:
        """Clients that ask again as soon as they have an answer."""
        tally = Tally()
        start = time.perf_counter()

        async def client_loop(first: int) -> None:
            client = Client(self.port)
            number = first * 37
            while time.perf_counter() - start < seconds:
                await self.one(client, number, tally)
                number += 1
            client.close()

        await asyncio.gather(*(client_loop(first) for first in range(n_clients)))
        tally.seconds = time.perf_counter() - start
        return tally

    async def at_rate(self, rate: float, seconds: float) -> Tally:
        """Requests that come at a rate, whether those before were answered or not."""
        tally = Tally()
        idle: list[Client] = []
        start = time.perf_counter()

        async def request(number: int) -> None:
            client = idle.pop() if idle else Client(self.port)
            await self.one(client, number, tally)
            idle.append(client)

        tasks = []
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(request(number)))
        await asyncio.gather(*tasks)
        tally.seconds = time.perf_counter() - start
        for client in idle:
            client.close()
        return tally


def request_for(text: str, port: int) -> bytes:
    """The bytes of a request."""
    body = json.dumps({"text": text, "k": K}).encode()
    head = f"POST /v1/suggest HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def answer_to(tagger: tacit.Tagger, name: str, text: str) -> bytes:
    """The body of the right answer."""
    suggestions = [
        {"label": label, "name": tagger.readable(label), "score": round(score, 6)}
        for label, score in tagger.suggest([text], k=K)[0]
    ]
    content = {"model": name, "results": [{"suggestions": suggestions}]}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


@contextmanager
def service(model: Path, *options: object) -> Iterator[tuple[psutil.Process, int, float]]:
    """A running service, its port, and the seconds until it was ready."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("w") as log:
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0", "--acts", f"{folder}/acts.jsonl"]
        command += map(str, options)
        limited = ["sh", "-c", 'ulimit -n 1024 && exec "$@"', "sh", *command]
        process = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            address = next(line for line in process.stdout if line.startswith("http://"))
            yield psutil.Process(process.pid), int(re.findall(r":(\d+)/", address)[0]), time.perf_counter() - start
        finally:
            process.terminate()
            process.wait()
        for line in Path(folder, "log").read_text().splitlines():
            json.loads(line)  # nothing but structured lines


def overhead(load: Load, process: psutil.Process, tagger: tacit.Tagger, texts: list[str]) -> None:
    """Print how much longer a request takes than `Tagger.suggest`, text by text."""

    async def pairs() -> list[tuple[float, float, float]]:
        client, found = Client(load.port), []
        for number in range(N_SINGLE):
            place = number % len(texts)
            start, used = time.perf_counter(), time.process_time()
            tagger.suggest([texts[place]], k=K)
            middle, used = time.perf_counter(), time.process_time() - used
            await client.ask(load.requests[place])
            found.append((middle - start, time.perf_counter() - middle, used))
        client.close()
        return found

    before = _cpu_seconds(process)
    alone, served, used = np.array(asyncio.run(pairs())).T * 1000
    served_cpu, alone_cpu = 1000 * (_cpu_seconds(process) - before) / N_SINGLE, used.mean()
    print(
        f"one at a time, at the median: Tagger.suggest {np.median(alone):.2f} ms, request {np.median(served):.2f} ms, "
        f"difference {np.median(served - alone):.2f} ms\n"
        f"one at a time, CPU time at the mean: Tagger.suggest {alone_cpu:.2f} ms, request {served_cpu:.2f} ms, "
        f"difference {served_cpu - alone_cpu:.2f} ms",
        flush=True,
    )


def _allow_many_files() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192 if most < 0 else min(8192, most), most))


def _cpu_seconds(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


def measure(model: Path, data: Path, seconds: float) -> None:
    """Print all measurements."""
    texts = texts_of_the_test_set(data)
    tagger = tacit.Tagger.load(model)
    answers = [answer_to(tagger, model.name, text) for text in texts]
    with service(model) as (process, port, until_ready):
        load = Load(port, [request_for(text, port) for text in texts], answers)
        start = time.perf_counter()
        asyncio.run(load.one(Client(port), 0, Tally()))
        wall = until_ready + time.perf_counter() - start
        print(f"start to first answer: {wall:.2f} s ({_cpu_seconds(process):.2f} s of CPU time)")
        print(f"texts: {np.median([len(text) for text in texts]):,.0f} characters at the median")
        overhead(load, process, tagger, texts)
        full = _run(process, f"{N_CLIENTS} clients for {seconds:g} s", load.steady(N_CLIENTS, seconds))
        capacity = len(full.latencies) / full.seconds
        for times in (2, 4):
            tally = _run(process, f"{times} times that rate", load.at_rate(times * capacity, seconds / 3))
            print(f"  {len(tally.latencies) / tally.seconds / capacity:.0%} of the answers per second", flush=True)
        _run(process, "half of it, right after", load.at_rate(capacity / 2, seconds / 3))


def _run(process: psutil.Process, what: str, requests: Coroutine[Any, Any, Tally]) -> Tally:
    """Let requests happen and print what came of them."""
    before = _cpu_seconds(process)
    tally = asyncio.run(requests)
    used = (_cpu_seconds(process) - before) / tally.seconds
    print(f"{what}: {tally}; {used:.0%} of a core, {process.memory_info().rss / 1e6:,.0f} MB", flush=True)
    return tally


def main() -> None:
    """Measure on the model named on the command line, or on one trained now."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args(sys.argv[1:] if sys.argv[0].endswith("service.py") else [])
    data = Path(os.environ["TACIT_DATA"])
    _allow_many_files()
    if given.model is not None:
        measure(given.model, data, given.seconds)
        return
    with trained(data) as model:
        measure(model, data, given.seconds)


@contextmanager
def trained(data: Path, part: str = "train") -> Iterator[Path]:
    """A model of EURLEX57K, trained now."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "eurlex")
        texts = data / "eurlex57k" / f"{part}.jsonl.gz"
        command = ["train", str(texts), "--text", ",".join(FIELDS), "--labels", "concepts", "--out", str(model)]
        subprocess.run([sys.executable, "-m", "tacit", *command], check=True)
        yield model


if __name__ == "__main__":
    main()
