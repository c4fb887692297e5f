"""What a served model is, how good it is, and its report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tacit.tagger.suggest import DECIMALS

if TYPE_CHECKING:
    from tacit.server.models import Served
    from tacit.tagger.tagger import Tagger

#: The file in a model folder that ``tacit evaluate MODEL DATA --report MODEL/report.html`` writes.
REPORT = "report.html"
_TEXTS_TRIED, _BEST_LENGTH, _LONGEST = 100, 300, 1000  # of an example


def card_of(served: Served) -> dict[str, Any]:
    """A served model, by the names of `ServedModel`."""
    tagger = served.tagger
    held_out = tagger.card_.get("held_out_metrics") or {}
    error, spread = (tagger.card_.get(f"calibration_{what}") for what in ("error", "spread"))
    return {
        "name": served.name,
        "kind": type(tagger.model_).__name__,
        "labels": len(tagger.classes_),
        "samples": tagger.card_.get("samples"),
        "calibrated": tagger.calibration_ is not None,
        "calibration_error": None if error is None else round(error, DECIMALS),
        "calibration_samples": tagger.card_.get("calibration_samples"),
        "calibration_spread": None if spread is None else round(spread, DECIMALS),
        "metrics": {name: round(value, DECIMALS) for name, value in held_out.items()},
        "threshold": round(tagger.threshold_, DECIMALS),
        "example": _example(tagger),
        "report": report_of(served) is not None,
        "acts": served.n_acts,
        "max_batch": served.limits.max_batch,
        "loaded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(served.loaded_at)),
    }


def report_of(served: Served) -> bytes | None:
    """The report in the model folder, unless it is on a model that was trained on other data."""
    try:
        content = (served.folder / REPORT).read_bytes()
    except OSError:
        return None
    fingerprint = str(served.tagger.card_.get("fingerprint", ""))
    return content if fingerprint and fingerprint.encode() in content else None


def _example(tagger: Tagger) -> str | None:
    """A training text of moderate length, if the model keeps them."""
    texts = [] if tagger.training_ is None else tagger.training_.texts[:_TEXTS_TRIED]
    return min(texts, key=lambda text: abs(len(text) - _BEST_LENGTH))[:_LONGEST] if texts else None
