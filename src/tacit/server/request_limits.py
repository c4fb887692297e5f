"""What is served, to whom, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

MAX_K = 1000  # suggestions per text
MAX_ITEMS = 10_000  # texts, judgements or documents in a request, whatever `max_batch` says
COUNTERS = "PROMETHEUS_MULTIPROC_DIR"  # the environment variable that prometheus_client reads when it is imported
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Settings:
    """Models by the name that clients use, access control, and limits."""

    folders: Mapping[str, Path]
    acts: Mapping[str, Path] = field(default_factory=dict)  # ledgers that are not in the folder of their model
    token: str | None = None  # the bearer token of clients; None: everyone who can reach the service may use it
    # Host names that the service accepts; None: any. They protect a service without a token from pages of other sites
    # whose host names resolve to this machine (DNS rebinding).
    hosts: frozenset[str] | None = LOCAL_HOSTS
    max_body: int = 2_000_000  # bytes of a request body
    max_connections: int = 1000  # open at a time, per worker
    request_timeout: float = 10.0  # seconds to receive a request body
    max_batch: int = 64  # texts, or judgements, in a request
    max_waiting: int = 256  # texts queued for a model; further requests are rejected
    timeout: float = 10.0  # seconds that a request may be queued


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
