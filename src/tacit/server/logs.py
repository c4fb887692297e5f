"""The log of the service: JSON lines, without the texts of its users."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any, TextIO

logger = logging.getLogger("tacit.server")
_BELOW = ("uvicorn", "asyncio", "py.warnings")


class JsonFormatter(logging.Formatter):
    """A JSON object per line: time, level, event and its details."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        milliseconds = int(record.created * 1000) % 1000
        content: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{milliseconds:03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        content.update(getattr(record, "about", {}))
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)


def write_logs(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Write the logs of the service, and warnings of the libraries it uses, as JSON lines to stderr."""
    logging.captureWarnings(True)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name, least in (("tacit", level), *((name, max(level, logging.WARNING)) for name in _BELOW)):
        log = logging.getLogger(name)
        log.handlers = [handler]
        log.setLevel(least)
        log.propagate = False


def event(name: str, level: int = logging.INFO, **about: Any) -> None:
    """Log one event."""
    if logger.isEnabledFor(level):
        logger.log(level, name, extra={"about": about})


def failure(name: str, error: BaseException, **about: Any) -> None:
    """Log the class and the stack of an error, not its message, which may quote a text of a user."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    event(name, logging.ERROR, error=type(error).__name__, places=places, **about)
