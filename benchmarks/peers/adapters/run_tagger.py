"""A tagger of tacit with its defaults and a vocabulary."""

import numpy as np
from measures import files_in
from texts import K, run

import tacit
from tacit.tagger.automatic import CANDIDATES

N_WARM_UP = 1_000  # rows


def prepare(folder, options):  # noqa: ARG001
    """Before training: compile kernels, or load what was compiled."""
    if "train" in options:
        data = tacit.load_data(options["train"])
        part = data.rows(np.arange(min(N_WARM_UP, len(data))))
        for model in CANDIDATES:
            tagger = tacit.Tagger(model, vocabulary=options["vocabulary"])
            tagger.fit(part.texts, part.Y, label_names=part.label_names)
    return {"versions": {"tacit": tacit.__version__}}


def train(folder, options):
    """Read the corpus, train and save."""
    data = tacit.load_data(options["train"])
    tagger = tacit.Tagger(vocabulary=options["vocabulary"], n_jobs=options["jobs"])
    tagger.fit(data.texts, data.Y, label_names=data.label_names).save(folder / "model")


def load(folder, options):  # noqa: ARG001
    """Suggestions of the saved tagger."""
    tagger = tacit.Tagger.load(folder / "model")

    def suggest(texts):
        return [[one.label for one in found] for found in tagger.suggest(texts, k=K)]

    return suggest, files_in(folder / "model")


if __name__ == "__main__":
    run(prepare, train, load)
