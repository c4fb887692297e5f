"""A project of Annif; the folder holds its projects.cfg, the options name the project."""

import logging
import re
from importlib import metadata

import nltk.data
import nltk.tokenize
import numpy as np
from annif.corpus import Document, DocumentFileTSV
from annif.registry import AnnifRegistry
from annif.vocab import VocabFileTSV
from measures import files_in
from texts import K, run

import annif

PACKAGES = ("annif", "omikuji", "scikit-learn", "nltk", "numpy", "scipy")
BATCH = 32  # documents, as Annif's own commands have it
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9])")


def prepare(folder, options):
    """Load the vocabulary; replace the sentence splitter if its data are not there."""
    annif.logger.setLevel(logging.WARNING)
    np.random.seed(0)  # noqa: NPY002 - the bagging of MLLM draws from here
    splitter = _splitter()
    vocabulary = _registry(folder).get_vocab("yso")
    if not files_in(folder / "data" / "vocabs"):
        vocabulary.load_vocabulary(VocabFileTSV(options["vocabulary"], "en"))
    versions = {package: metadata.version(package) for package in PACKAGES}
    return {"versions": versions, "sentences": splitter}


def train(folder, options):
    """Train the project on the corpus, as ``annif train`` does."""
    project = _registry(folder).get_project(options["project"])
    project.train(DocumentFileTSV(options["train"], project.subjects), jobs=options["jobs"])


def load(folder, options):
    """Suggestions of the project, as the REST interface gets them."""
    project = _registry(folder).get_project(options["project"])
    project.initialize()
    subjects = project.subjects

    def suggest(texts):
        found = []
        for start in range(0, len(texts), BATCH):
            batch = project.suggest([Document(text=text) for text in texts[start : start + BATCH]])
            found += [[subjects[one.subject_id].uri for one in result] for result in batch.filter(limit=K)]
        return found

    folders = [folder / "data" / "projects" / name for name in options["trained"]]
    files = files_in(folder / "data" / "vocabs", *folders)
    return suggest, [file for file in files if file.name != "omikuji-train.txt"]


def _registry(folder):
    return AnnifRegistry(str(folder / "projects.cfg"), str(folder / "data"), init_projects=False)


def _splitter():
    """Name of the sentence splitter in use; NLTK's needs data that are downloaded."""
    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        nltk.tokenize.sent_tokenize = lambda text, language="english": SENTENCE_END.split(text)  # noqa: ARG005
        nltk.download = lambda *arguments, **options: False  # noqa: ARG005
        return "a regular expression"
    return "NLTK's Punkt"


if __name__ == "__main__":
    run(prepare, train, load)
