"""Metrics of rankings and label sets, in plain loops straight from their definitions."""

from __future__ import annotations

import math


def evaluate(ranked, truth, propensities, ks):
    """`ranked`: lists of labels (-1 for none); `truth`: dense rows; `propensities`: dense rows or None."""
    relevant = [{label for label, value in enumerate(row) if value == 1} for row in truth]
    n = len(ranked)
    values = {}
    for k in ks:
        precision = ndcg = recall = 0.0
        for labels, wanted in zip(ranked, relevant, strict=True):
            hits = [label in wanted for label in labels[:k]]
            precision += sum(hits) / k
            if wanted:
                recall += sum(hits) / len(wanted)
                ndcg += _dcg(hits) / _dcg([1] * min(k, len(wanted)))
        values |= {f"P@{k}": precision / n, f"nDCG@{k}": ndcg / n, f"R@{k}": recall / n}
        values[f"C@{k}"] = _coverage(ranked, relevant, k)
        if propensities is not None:
            values |= _propensity_scored(ranked, relevant, propensities, k)
    return values


def _propensity_scored(ranked, relevant, propensities, k):
    got = best = got_dcg = best_dcg = 0.0
    for labels, wanted, probability in zip(ranked, relevant, propensities, strict=True):
        gains = [1 / probability[label] if label in wanted else 0.0 for label in labels[:k]]
        ideal = sorted((1 / probability[label] for label in wanted), reverse=True)[:k]
        got += sum(gains) / k
        best += sum(ideal) / k
        if wanted:
            normalizer = _dcg([1] * min(k, len(wanted)))
            got_dcg += _dcg(gains) / normalizer
            best_dcg += _dcg(ideal) / normalizer
    return {f"PSP@{k}": got / best if best else 0.0, f"PSnDCG@{k}": got_dcg / best_dcg if best_dcg else 0.0}


def _dcg(gains):
    return sum(gain / math.log2(1 + place) for place, gain in enumerate(gains, start=1))


def _coverage(ranked, relevant, k):
    known = set().union(*relevant)
    found = {label for labels, wanted in zip(ranked, relevant, strict=True) for label in labels[:k] if label in wanted}
    return len(found) / len(known) if known else 0.0
