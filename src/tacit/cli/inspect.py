"""``tacit inspect``: what a model is and what it was trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from tacit.cli.options import json_option, model_argument
from tacit.cli.tables import print_metrics, print_table
from tacit.evaluation.bands import BANDS, band_of_labels
from tacit.evaluation.metrics import KS
from tacit.sizes import format_size
from tacit.store.folder import MANIFEST, read_manifest
from tacit.tagger.tagger import Tagger


@click.command()
@model_argument
@json_option
def inspect(model: Path, as_json: bool) -> None:
    """Show the training data, version, parameters and held-out metrics of MODEL.

    \b
    Example: tacit inspect model
    """
    found = _facts_of(model)
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    simple = {name: _shown(value) for name, value in found.items() if not isinstance(value, dict | list)}
    simple["size in bytes"] += f" ({format_size(found['size in bytes'])})"
    _print_mapping(str(model), simple)
    for title in ("parameters", "versions", "labels_by_band"):
        click.echo()
        _print_mapping(title.replace("_", " "), found[title])
    if found["held_out_metrics"]:
        click.echo()
        print_metrics({"held out": found["held_out_metrics"]}, KS)
    for place, act in enumerate(found["changes"], 1):
        click.echo(f"{place}. {act}")


def _facts_of(path: Path) -> dict[str, Any]:
    """All facts about a model folder, as plain values; arrays are memory-mapped, not read."""
    manifest = read_manifest(path)
    tagger = Tagger.load(path, verify=False)
    model, card = tagger._fitted_model(), tagger.card_
    counts, kept = np.asarray(model.label_counts_), tagger.training_
    by_band = np.bincount(band_of_labels(counts, len(counts)), minlength=len(BANDS))
    return {
        "model": tagger.model_name_,
        "kind": "tagger" if manifest["model"] == "Tagger" else "estimator",
        "input": "texts" if tagger.takes_texts else "features",
        "chosen because": card.get("reason"),
        "fingerprint of the data": card.get("fingerprint"),
        "samples": int(model.n_samples_),
        "features": int(model.n_features_in_),
        "labels": tagger.n_suggested_,
        "positives": int(counts.sum()),
        "seed": model.random_state,
        "calibration error": card.get("calibration_error"),
        "calibrated on samples": card.get("calibration_samples"),
        "standard error of a probability": card.get("calibration_spread"),
        "threshold": float(tagger.threshold_),
        "training data kept": f"{kept.labels.shape[0]:,} {'texts' if kept.texts else 'rows'}" if kept else "none",
        "samples in acts": sum(
            len(act.content.get(key) or ()) for act in tagger.acts_ for key in ("examples", "judgements")
        ),
        "size in bytes": manifest["file"]["size"] + (path / MANIFEST).stat().st_size,
        "checksum": manifest["sha256"],
        "format": manifest["format_version"],
        "parameters": {
            name: f"array of shape {value.shape}" if hasattr(value, "shape") else value
            for name, value in model.stored_parameters().items()
        },
        "versions": card.get("versions") or {"tacit": manifest["tacit_version"]},
        "held_out_metrics": card.get("held_out_metrics") or {},
        "labels_by_band": {name: int(n) for (name, _), n in zip(BANDS, by_band, strict=True)},
        "changes": tagger.history(),
        "encoder": None if tagger.encoding_ is None else tagger.encoding_.shown,
    }


def _shown(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_mapping(title: str, values: dict[str, Any]) -> None:
    print_table([title, ""], [[name, str(value)] for name, value in values.items()])
