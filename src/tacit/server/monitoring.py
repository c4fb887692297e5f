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
    """All metrics; gauges are set when the metrics are requested, and whenever the model folders are checked.

    The workers of a service write theirs to a shared folder, and each of them reports the sums.
    """

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
        what = "Suggestions accepted or rejected."
        self.judged = Counter("tacit_judgements", what, ["model", "accepted"], registry=own)
        what = "Connections closed without a response, by reason."
        self.closed = Counter("tacit_closed_connections", what, ["reason"], registry=own)
        what = "Reloads of a model, by outcome."
        self.reloads = Counter("tacit_reloads", what, ["model", "outcome"], registry=own)
        what = "Texts queued for suggestions."
        self.waiting = Gauge("tacit_waiting_texts", what, ["model"], registry=own, multiprocess_mode="livesum")
        self.labels = Gauge(
            "tacit_labels", "Labels of a model.", ["model"], registry=own, multiprocess_mode="livemostrecent"
        )
        self.acts = Gauge("tacit_acts", "Acts in force.", ["model"], registry=own, multiprocess_mode="livemostrecent")
        what = "When a model was loaded."
        self.loaded = Gauge(
            "tacit_loaded_timestamp_seconds", what, ["model"], registry=own, multiprocess_mode="livemin"
        )

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
