"""Other systems and tacit on the same matrices: time, memory, size, speed of ranking, accuracy.

Usage: ``TACIT_DATA=… python -m benchmarks peers [--sets SET…] [--systems NAME…] [--runs N] [--busy] [--markdown]``

Each system is installed into an environment of its own, in the folder TACIT_PEERS, else in ~/.cache/tacit-peers. It is
trained with its defaults, saves its model, and ranks with what a fresh process has loaded, as its manual recommends.
Systems take turns; each step waits until other processes leave the machine alone. Results are kept by run and
system: the same command continues what was interrupted, and prints the tables again when all is there.
"""

from __future__ import annotations

from benchmarks.peers.environments import PeerError, machine
from benchmarks.peers.systems import measure

__all__ = ["PeerError", "machine", "main", "measure"]


def main(*arguments: str) -> None:
    """Print the tables."""
    from benchmarks.peers import __main__ as command

    command.main(*arguments)
