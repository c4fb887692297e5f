"""Prometheus metrics of the service."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from tacit.server.request_limits import COUNTERS

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """All metrics. The workers of a service write theirs to a shared folder, and each of them reports the sums."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        if os.environ.get(COUNTERS):
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        else:
            ProcessCollector(registry=own)
        what = "Requests by route, method and status."
        self.requests = Counter("tacit_requests", what, ["route", "method", "status"], registry=own)
        what = "Time from the end of the headers to the response."
        self.seconds = Histogram("tacit_request_seconds", what, ["route"], buckets=_SECONDS, registry=own)
        self.texts = Counter("tacit_texts", "Texts that suggestions were made for.", ["model"], registry=own)
        self.ranked = Histogram("tacit_ranked_texts", "Texts ranked together.", ["model"], buckets=_TEXTS, registry=own)
        self.reloads = Counter("tacit_reloads", "Reloads by outcome.", ["model", "outcome"], registry=own)
        self.waiting = _gauge("tacit_waiting_texts", "Texts queued for suggestions.", "livesum", own)
        self.labels = _gauge("tacit_labels", "Labels of a model.", "livemostrecent", own)
        self.acts = _gauge("tacit_acts", "Acts in force.", "livemostrecent", own)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


def _gauge(name: str, what: str, mode: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, what, ["model"], registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]
