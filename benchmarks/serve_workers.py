"""One worker of ``tacit serve`` against several, at 50 clients, on a model of EURLEX57K.

Usage: ``TACIT_DATA=… python -m benchmarks serve_workers [--model MODEL] [--workers 2] [--seconds 15] [--rounds 3]``.
Without MODEL one is trained on the development set. Both services run at the same time and are asked in turns. Every
answer is compared with that of `Tagger.suggest`. The client waits with `select` and parses little, so that
it takes little of the processors that it shares with the service. Besides answers per second, which other work on the
machine lowers, the table has CPU time per answer, which it changes little: with a core for each worker and one for the
client, answers per second grow as the number of workers times the ratio of these.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

import tacit
from benchmarks.service import N_CLIENTS, answer_to, request_for, service, texts_of_the_test_set, trained

TARGET = 1.7


@dataclass
class Turn:
    """What a service did in one turn."""

    n_answers: int
    n_wrong: int
    seconds: float
    cpu_seconds: float  # of the service
    client_seconds: float  # CPU time of this process


class Asker:
    """A client that asks again as soon as it has an answer."""

    def __init__(self, port: int, number: int, requests: list[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests = requests
        self.place = 37 * number % len(requests)
        self.received = b""

    def ask(self) -> None:
        """Send the next request."""
        self.place = (self.place + 1) % len(self.requests)
        self.received = b""
        self.socket.sendall(self.requests[self.place])

    def answer(self) -> bytes | None:
        """The body of the answer, if it is complete."""
        self.received += self.socket.recv(65536)
        head, blank, body = self.received.partition(b"\r\n\r\n")
        if not blank:
            return None
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        return body if len(body) == length else None


def turn(process: psutil.Process, port: int, requests: list[bytes], answers: list[bytes], seconds: float) -> Turn:
    """Ask for some seconds, as 50 clients do."""
    askers = [Asker(port, number, requests) for number in range(N_CLIENTS)]
    waiting = selectors.DefaultSelector()
    before, own = cpu_seconds(process), time.process_time()
    start = time.perf_counter()
    done = Turn(0, 0, 0.0, 0.0, 0.0)
    for asker in askers:
        waiting.register(asker.socket, selectors.EVENT_READ, asker)
        asker.ask()
    while time.perf_counter() - start < seconds:
        for key, _ in waiting.select(timeout=1.0):
            asker: Asker = key.data
            body = asker.answer()
            if body is not None:
                done.n_answers += 1
                done.n_wrong += body != answers[asker.place]
                asker.ask()
    done.seconds = time.perf_counter() - start
    done.cpu_seconds, done.client_seconds = cpu_seconds(process) - before, time.process_time() - own
    for asker in askers:
        asker.socket.close()
    return done


def cpu_seconds(process: psutil.Process) -> float:
    """CPU time of a service with all its processes."""
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


def main(*arguments: str) -> None:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks serve_workers", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--model", type=Path, help="a tagger trained on EURLEX57K")
    parser.add_argument("--workers", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each turn (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(%(default)s)")
    given = parser.parse_args(arguments)
    data = Path(os.environ["TACIT_DATA"])
    with ExitStack() as stack:
        model = given.model or stack.enter_context(trained(data, "dev"))
        measure(model, texts_of_the_test_set(data), given, stack)


def measure(model: Path, texts: list[str], given: argparse.Namespace, stack: ExitStack) -> None:
    """Run both services, ask them in turns and print the ratios."""
    tagger = tacit.Tagger.load(model)
    answers = [answer_to(tagger, model.name, text) for text in texts]
    services = {n: stack.enter_context(service(model, "--workers", n)) for n in (1, given.workers)}
    requests = {n: [request_for(text, port) for text in texts] for n, (_, port, _) in services.items()}
    for n, (process, port, _) in services.items():
        turn(process, port, requests[n], answers, 2.0)  # warm
    rates: list[tuple[float, float]] = []
    costs: list[tuple[float, float]] = []
    for _ in range(given.rounds):
        done = {
            n: turn(process, port, requests[n], answers, given.seconds) for n, (process, port, _) in services.items()
        }
        for n, one in done.items():
            print(
                f"{n} worker{'s' * (n > 1)}: {one.n_answers / one.seconds:,.0f} answers/s, wrong {one.n_wrong}; "
                f"{1000 * one.cpu_seconds / one.n_answers:.2f} ms of CPU time per answer, "
                f"{one.cpu_seconds / one.seconds:.2f} cores, client {one.client_seconds / one.seconds:.2f}",
                flush=True,
            )
        first, last = done.values()
        rates.append((first.n_answers / first.seconds, last.n_answers / last.seconds))
        costs.append((first.cpu_seconds / first.n_answers, last.cpu_seconds / last.n_answers))
    measured = np.median([last / first for first, last in rates])
    possible = given.workers * np.median([first / last for first, last in costs])
    print(
        f"answers per second, {given.workers} workers by one: {measured:.2f} (target {TARGET}); by CPU time per answer "
        f"{possible:.2f}; machine: {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
