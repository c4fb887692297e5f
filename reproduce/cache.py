"""Results on disk, one JSON file a run, so that a long table can be stopped and resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.store.atomic import replacing

Metrics = dict[str, float]


def default_folder() -> Path:
    """``tacit/reproduce`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tacit" / "reproduce"


@dataclass(frozen=True)
class Cache:
    """A folder of results. What a result depends on is its key: data, settings, seed, and the source of the model."""

    folder: Path

    def get(self, key: Mapping[str, Any]) -> Metrics | None:
        """The result of a run, if it is there."""
        path = self._path(key)
        if not path.is_file():
            return None
        metrics: Metrics = json.loads(path.read_text(encoding="utf-8"))["metrics"]
        return metrics

    def earlier(self, key: Mapping[str, Any]) -> Metrics | None:
        """The newest result of the same run with an earlier source of the model or version of tacit, if there is one.

        Parameters that the model did not have then must be off now.
        """
        wanted = json.loads(json.dumps(key, default=str))
        paths = self.folder.glob(f"{_stem(key)}-*.json")
        for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True):
            stored = json.loads(path.read_text(encoding="utf-8"))
            if _comparable(wanted, stored["run"]) == _comparable(stored["run"], stored["run"]):
                metrics: Metrics = stored["metrics"]
                return metrics
        return None

    def put(self, key: Mapping[str, Any], metrics: Metrics) -> None:
        """Keep the result of a run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._path(key)) as path:
            path.write_text(json.dumps({"run": key, "metrics": metrics}, indent=1, default=str), encoding="utf-8")

    def _path(self, key: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]
        return self.folder / f"{_stem(key)}-{digest}.json"


def _stem(key: Mapping[str, Any]) -> str:
    return f"{key['set']}-{key['model']}-{key['seed']}"


def _comparable(key: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """What two runs must have in common: not parameters that are off and that the stored run does not have."""
    shared = {name: value for name, value in key.items() if name not in ("source", "tacit", "parameters")}
    known = stored.get("parameters", {})
    parameters = {name: value for name, value in key.get("parameters", {}).items() if value or name in known}
    return {**shared, "parameters": parameters}
