"""What to use instead of options and parameters that are gone; the reasons are in docs/decisions/small.md."""

from __future__ import annotations

#: Options of the command line, by command.
OPTIONS = {
    "suggest --cluster": "parts of the file, one for each machine",
    "tune --search": "`space=` of `tacit.tune` in Python",
    "tune --out": "the `tacit train` command that `tune` prints",
    "learn --undo": "`tacit labels MODEL undo ID`",
    "learn --data": "feedback with texts in place of row numbers",
    "add-label --preview": "`tacit suggest --include NAME`, then `tacit labels MODEL undo ID`",
    "serve --limit": "`--max-batch`, `--max-waiting` and `--timeout`, for all models",
    "serve --no-watch": "nothing: folders are always watched",
    "serve --annif-learn": "nothing: clients of Annif may always teach",
    "compare --resamples": "`n_bootstrap` of `tacit.compare` in Python",
}
#: Parameters of models.
PARAMETERS = {
    "search": "`max_cluster`: neighbours are searched exactly",
    "objective": "`python -m reproduce exmlds objectives`",
    "solver": "`python -m reproduce exmlds objectives`",
    "context_space": "nothing: neighbours are those of labels",
    "partition": "nothing: clusters are made of label-space neighbours",
    "tail": "`python -m reproduce pfastrexml centres`",
    "loss": "the model `AnnexML`, which has the softmax",
    "link": "nothing: the logistic link is the only one",
    "mapping_in_model": "`mapping='moments'` or `'linear'`",
    "n_folds": "`validation`: one held-out set",
}


def instead(table: dict[str, str], name: str) -> str:
    """The end of a message on an unknown name: what to use instead, if it was removed."""
    return f" (removed; use instead {table[name]})".replace("use instead nothing: ", "") if name in table else ""
