"""Models and data to report on, and a reader of the pages that comes of them."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser

import numpy as np
from scipy import sparse

import tacit
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.report.findings import Evaluation

VOID = {"meta", "br"}


class Page(HTMLParser):
    """A parsed page: elements opened and closed in order, ids, links, and the text of each kind of element."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(content)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        self.attributes.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append((self.open[-1], data))

    def text(self) -> str:
        return "".join(data for _, data in self.texts)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.attributes)


@cache
def texts_and_tags(n_samples: int = 160, seed: int = 0) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Texts of a few topics, whose tags are the topics."""
    topics = {
        "fruit": "apple pear plum fig",
        "cars": "engine wheel brake road",
        "music": "song chord tune choir",
        "<b>law</b> & order": "judge court trial appeal",
    }
    rng = np.random.default_rng(seed)
    texts, tags = [], []
    for _ in range(n_samples):
        chosen = rng.choice(list(topics), size=rng.integers(1, 3), replace=False).tolist()
        words = [word for tag in chosen for word in rng.choice(topics[tag].split(), size=3)]
        texts.append(" ".join([*words, "and"]))
        tags.append(tuple(chosen))
    return tuple(texts), tuple(tags)


@cache
def trained_tagger(calibrate: bool = True) -> tacit.Tagger:
    texts, tags = texts_and_tags()
    return tacit.Tagger("OneVsAll", calibrate=calibrate).fit(list(texts), list(tags))


def dataset(texts: list[str], tags: list[list[str]]) -> tacit.Dataset:
    """A data set as a file of texts gives it."""
    names = sorted({tag for row in tags for tag in row})
    Y = sparse.csr_matrix(np.array([[float(name in row) for name in names] for row in tags]).reshape(len(tags), -1))
    return tacit.Dataset(None, Y, names, texts)


@cache
def new_dataset() -> tacit.Dataset:
    """Samples that the tagger has not seen."""
    texts, tags = texts_and_tags(60, seed=1)
    return dataset(list(texts), [list(row) for row in tags])


class FakeModel:
    """A model of which only the threshold matters."""

    def __init__(self, threshold: float = 0.5, calibrated: bool = True) -> None:
        self.threshold_ = threshold
        self.calibration_ = object() if calibrated else None

    def propensities_for(self, n_labels: int) -> np.ndarray:
        return np.ones(n_labels)


def evaluation(
    ranked: list[list[tuple[int, float]]], truth: list[list[int]], counts: list[int], threshold: float = 0.5
) -> Evaluation:
    """An evaluation of given suggestions, each row of any length."""
    n_places = max(map(len, ranked))
    labels = np.full((len(ranked), n_places), NO_LABEL)
    scores = np.full((len(ranked), n_places), NO_SCORE, np.float32)
    for row, pairs in enumerate(ranked):
        for place, (label, score) in enumerate(pairs):
            labels[row, place], scores[row, place] = label, score
    Y = np.zeros((len(truth), len(counts)), np.float32)
    for row, true in enumerate(truth):
        Y[row, true] = 1
    names = [f"label {label}" for label in range(len(counts))]
    data = tacit.Dataset(sparse.csr_matrix((len(truth), 1), dtype=np.float32), sparse.csr_matrix(Y), names)
    return Evaluation(
        FakeModel(threshold), data, Ranking(labels, scores), sparse.csr_matrix(Y), names, np.array(counts, np.int64)
    )
