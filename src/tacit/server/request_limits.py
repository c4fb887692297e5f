"""What is served, with its limits and the settings for access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from ipaddress import ip_address
from pathlib import Path

from tacit.errors import ParameterError, did_you_mean

MAX_K = 1000  # suggestions per text
MAX_ITEMS = 10_000  # texts, judgements or documents in a request, whatever the limit of its model
TEXTS_PER_RANKING = 32  # larger batches gain little and make the next request wait longer
ACTS_PER_COMMIT = 256
COUNTERS = "PROMETHEUS_MULTIPROC_DIR"  # the environment variable that prometheus_client reads when it is imported
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Limits:
    """Limits of one model."""

    max_batch: int = 64  # texts, or judgements, in a request
    max_waiting: int = 256  # texts queued for the model; further requests are rejected
    timeout: float = 10.0  # seconds that a request may be queued

    def __post_init__(self) -> None:
        _check_above_zero(self, [field.name for field in fields(self)])
        if self.max_batch > MAX_ITEMS:
            raise ParameterError(f"the limit max_batch must be at most {MAX_ITEMS:,}; got {self.max_batch:,}")

    def changed(self, name: str, value: str) -> Limits:
        """A copy with one limit changed to a value from the command line."""
        kinds = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        if name not in kinds:
            raise ParameterError(
                f"there is no limit '{name}'{did_you_mean(name, kinds)} (there are: {', '.join(kinds)})"
            )
        try:
            return replace(self, **{name: kinds[name](value)})
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(f"the limit {name} must be a number; got '{value}'") from None


@dataclass(frozen=True)
class Settings:
    """Access control, and limits of the service as a whole."""

    token: str | None = None  # the bearer token of clients; None: everyone who can reach the service may use it
    max_body: int = 2_000_000  # bytes of a request body
    max_connections: int = 1000  # open at a time; fewer where the system's limit of open files is lower
    request_timeout: float = 10.0  # seconds to complete a request, from the connection or the request's first byte
    # Host names that the service accepts; None: any. They protect a service without a token from pages of other sites
    # whose host names resolve to this machine (DNS rebinding).
    hosts: frozenset[str] | None = LOCAL_HOSTS
    annif_learn: bool = False  # whether clients of Annif's interface may teach the models

    def __post_init__(self) -> None:
        _check_above_zero(self, ("max_body", "max_connections", "request_timeout"))


@dataclass(frozen=True)
class ServicePlan:
    """What is served. Folders, limits and ledgers (by default in the folder) are by the name that clients use."""

    folders: Mapping[str, Path]
    limits: Mapping[str, Limits]
    settings: Settings
    acts: Mapping[str, Path]
    watch: bool

    @property
    def patience(self) -> float:
        """Seconds that a request may be queued for any model."""
        return max(limit.timeout for limit in self.limits.values())


def _check_above_zero(limits: Limits | Settings, names: Sequence[str]) -> None:
    for name in names:
        if not getattr(limits, name) > 0:
            raise ParameterError(f"the limit {name} must be above 0; got {getattr(limits, name)}")


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
