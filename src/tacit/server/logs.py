"""The log of the service: JSON lines, without the texts of its users."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

logger = logging.getLogger("tacit.server")
_LEVELS = {"tacit": logging.INFO} | dict.fromkeys(("uvicorn", "asyncio", "py.warnings"), logging.WARNING)


class JsonFormatter(logging.Formatter):
    """A JSON object per line: time, level, event and its details."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        content = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "about", {}),
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)


def write_logs() -> None:
    """Write the logs of the service, and warnings of the libraries it uses, as JSON lines to stderr."""
    logging.captureWarnings(True)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name, level in _LEVELS.items():
        log = logging.getLogger(name)
        log.handlers = [handler]
        log.setLevel(level)
        log.propagate = False


def event(name: str, level: int = logging.INFO, **about: Any) -> None:
    """Log one event."""
    logger.log(level, name, extra={"about": about})


def failure(name: str, error: BaseException, **about: Any) -> None:
    """Log the class and the stack of an error, not its message, which may quote a text of a user."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    event(name, logging.ERROR, error=type(error).__name__, places=places, **about)
