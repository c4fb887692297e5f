"""``tacit demo``: train, evaluate and report on synthetic data, in a minute."""

from __future__ import annotations

from pathlib import Path

import click

from tacit.cli.evaluate import metrics_of, ranking_of
from tacit.cli.options import PATH, jobs_option, seed_option
from tacit.cli.say import progress_shown
from tacit.cli.tables import print_bands, print_metrics, print_table
from tacit.core.labels import label_counts
from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.synthetic import SyntheticData, make_dataset
from tacit.evaluation.metrics import KS
from tacit.report.write import check_report_path, write_report
from tacit.tagger.tagger import Tagger

MODELS = ("Popularity", "OneVsAll")
N_EXAMPLES = 3
K_EXAMPLES = 4


@click.command()
@click.option(
    "--report", type=PATH, default="tacit-demo-report.html", show_default=True, help="Where to write the report."
)
@seed_option
@jobs_option
def demo(report: Path, seed: int, jobs: int) -> None:
    """Generate texts with missing and rare labels, train, evaluate, show suggestions and write a report.

    \b
    Examples:
      tacit demo
      tacit demo --report demo.html --seed 3
    """
    check_report_path(report)
    made = make_dataset(seed=seed, as_text=True)
    train, test = made.dataset(made.train), made.dataset(made.test, complete=True)
    _print_sizes(made, train, test)
    metrics, bands = {}, {}
    with progress_shown():
        for name in MODELS:
            tagger = Tagger(name, seed, jobs, calibrate=name != MODELS[0])
            tagger.fit(train.texts, train.Y, label_names=train.label_names)
            ranking = ranking_of(tagger, test)
            metrics[name], bands[name] = metrics_of(tagger, test, ranking)
    print_metrics(metrics, KS)
    click.echo()
    print_bands(bands, max(KS))
    click.echo()
    _print_examples(tagger, test)
    click.echo(
        "More than half of the true labels are missing in training, so suggestions are right more often than recorded."
    )
    write_report(report, tagger, test, ranking=ranking, data_name="synthetic test data", seed=seed)
    click.echo(f"\nThe report {report} has more metrics, curves and examples: open it in a browser.")
    click.echo("Try your own data:  tacit train articles.csv --out model  &&  tacit suggest model new.csv")


def _print_sizes(made: SyntheticData, train: Dataset, test: Dataset) -> None:
    missing = 1 - train.Y.nnz / made.Y_complete[made.train].nnz
    n_unseen = int((label_counts(train.Y) == 0).sum())
    click.echo(
        f"{len(train):,} training texts, {train.n_labels:,} labels; {missing:.0%} of the true labels are missing,\n"
        f"{n_unseen} labels never occur. Tested on {len(test):,} texts with complete labels.\n"
    )


def _print_examples(tagger: Tagger, test: Dataset) -> None:
    suggested = tagger.suggest(texts_of(test)[:N_EXAMPLES], k=K_EXAMPLES)
    rows = []
    for truth, labels in zip(label_lists(test), suggested, strict=False):
        marked = [f"[{'green' if name in truth else 'dim'}]{name}[/] {score:.0%}" for name, score in labels]
        rows.append([", ".join(truth), ", ".join(marked)])
    print_table(["true labels", "suggested, with the probability of being recorded"], rows, title="examples")
