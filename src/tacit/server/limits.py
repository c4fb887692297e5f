"""How much the service takes on, and from whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from ipaddress import ip_address

from tacit.errors import ParameterError, did_you_mean

MAX_K = 1000  # suggestions per text
TEXTS_PER_RANKING = 32  # more at a time gain little, and let the next request wait longer
ACTS_PER_COMMIT = 256
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Limits:
    """Limits of one model.

    Attributes
    ----------
    max_batch : int
        Texts, or judgements, in a request.
    max_waiting : int
        Texts that may wait for the model; further requests are turned away.
    timeout : float
        Seconds that a request waits for its turn at most.
    """

    max_batch: int = 64
    max_waiting: int = 256
    timeout: float = 10.0

    def __post_init__(self) -> None:
        _check_above_zero(self, [field.name for field in fields(self)])

    def changed(self, name: str, value: str) -> Limits:
        """These limits with one of them changed, as the command line gives it."""
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
    """Limits of the service as a whole.

    Attributes
    ----------
    token : str, optional
        What a caller must show; None lets everyone in who can reach the service.
    max_body : int
        Bytes of a request.
    max_connections : int
        Connections at a time, fewer where the system does not grant as many files.
    request_timeout : float
        Seconds within which a request must have come as a whole, from the connection or its first byte on.
    hosts : frozenset of str, optional
        Names under which the service answers. They keep the pages of other sites, whose names were made to lead
        here, from using a service without a token; None: any name.
    annif_learn : bool
        Allow clients of Annif's interface to teach the models.
    """

    token: str | None = None
    max_body: int = 2_000_000
    max_connections: int = 1000
    request_timeout: float = 10.0
    hosts: frozenset[str] | None = LOCAL_HOSTS
    annif_learn: bool = False

    def __post_init__(self) -> None:
        _check_above_zero(self, ("max_body", "max_connections", "request_timeout"))


def _check_above_zero(limits: Limits | Settings, names: Sequence[str]) -> None:
    for name in names:
        if not getattr(limits, name) > 0:
            raise ParameterError(f"the limit {name} must be above 0; got {getattr(limits, name)}")


def is_local(host: str) -> bool:
    """Whether nobody but this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
