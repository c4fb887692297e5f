"""Tables and metrics on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tacit.cli.say import say
from tacit.evaluation.bands import BandResult

#: What the metrics of tables mean; `tacit.evaluation.metrics` and docs/metrics.md define them.
LEGEND = (
    "@k: in the first k suggestions. P: precision; R: recall; nDCG: early places count more; PSP, PSnDCG: rare labels "
    "count more; C: share of all labels that are found at all"
)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """Print rows under a header; columns of numbers are right-aligned."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(header):
        is_number = place > 0 and all(row[place][:1].isdigit() or not row[place] for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table, highlight=False)


def percent(value: float) -> str:
    """A share in [0, 1] as a percentage with two decimals."""
    return f"{100 * value:.2f}"


def print_metrics(results: Mapping[str, Mapping[str, float]], ks: Sequence[int]) -> None:
    """Print metrics in percent: a line per name of `results` and metric, a column per k."""
    rows = [
        [name, metric, *(percent(values[f"{metric}@{k}"]) for k in ks)]
        for name, values in results.items()
        for metric in dict.fromkeys(key.partition("@")[0] for key in values)
    ]
    print_table(["model", "percent", *(f"@{k}" for k in ks)], rows)
    say(LEGEND)


def print_bands(bands: Mapping[str, Sequence[BandResult]], k: int) -> None:
    """Print recall at k by label-frequency band, a column per name of `bands`, with 95 % confidence intervals."""
    rows = []
    for place, band in enumerate(next(iter(bands.values()))):
        recalls = [_with_interval(results[place], f"R@{k}") for results in bands.values()]
        rows.append([band.name, str(band.n_labels), str(band.n_positives), *recalls])
    title = f"recall@{k} in percent by number of training samples of a label"
    print_table(["band", "labels", "positives", *bands], rows, title=title)


def _with_interval(band: BandResult, metric: str) -> str:
    if not band.n_positives:
        return ""
    low, high = band.intervals[metric]
    return f"{percent(band.values[metric])} ({percent(low)}–{percent(high)})"
