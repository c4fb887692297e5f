"""``tacit demo``: the main job on made-up data, in a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tacit.cli.options import jobs_option, seed_option

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset
    from tacit.ranking import Ranking

MODELS = ("Popularity", "OneVsAll")
KS = (1, 3, 5)
N_EXAMPLES = 3


@click.command(short_help="The whole of tacit on made-up data, in a minute.")
@seed_option
@jobs_option
def demo(seed: int, jobs: int) -> None:
    """Generate data with missing and rare labels, train, evaluate and show suggestions."""
    import tacit
    from tacit.bands import evaluate_by_band
    from tacit.cli.tables import print_bands, print_metrics
    from tacit.data.synthetic import make_dataset
    from tacit.labels import label_counts
    from tacit.registry import find_model

    made = make_dataset(seed=seed)
    train, test = made.dataset(made.train), made.dataset(made.test, complete=True)
    missing = 1 - train.Y.nnz / made.Y_complete[made.train].nnz
    n_unseen = int((label_counts(train.Y) == 0).sum())
    click.echo(
        f"{len(train):,} training samples, {train.n_labels:,} labels; {missing:.0%} of the true labels are missing,\n"
        f"{n_unseen} labels never occur. Tested on {len(test):,} samples with complete labels.\n"
    )
    propensities = tacit.propensities(train.Y)
    metrics, bands = {}, {}
    with tacit.show_progress():
        for name in MODELS:
            model = find_model(name)(random_state=seed, n_jobs=jobs).fit(train.X, train.Y)
            ranking = model.rank(test.X, max(KS))
            metrics[name] = tacit.evaluate(ranking, test.Y, propensities, ks=KS)
            bands[name] = evaluate_by_band(ranking, test.Y, model.label_counts_, ks=KS, seed=seed)
    print_metrics(metrics, KS)
    click.echo()
    print_bands(bands, max(KS))
    click.echo()
    _print_examples(test, ranking)
    click.echo("\nNow your own data:  tacit train articles.csv --out model  &&  tacit suggest model new.csv")


def _print_examples(test: Dataset, ranking: Ranking) -> None:
    """Print what the last model suggests for the first samples beside their true labels."""
    from tacit.cli.tables import print_table
    from tacit.data.dataset import label_lists

    rows = []
    for place, truth in enumerate(label_lists(test)[:N_EXAMPLES]):
        names = [test.label_names[label] for label in ranking.labels[place]]
        marked = [f"[{'green' if name in truth else 'dim'}]{name}[/]" for name in names]
        rows.append([", ".join(truth), ", ".join(marked)])
    print_table(["true labels", "OneVsAll suggests"], rows, title="examples")
