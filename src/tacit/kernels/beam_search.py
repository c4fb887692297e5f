"""Clusters of bounded size, and beam search in trees over labels.

The weights of a node (a chunk) are stored by feature: its features in ascending order, and for each of them its
entries (child, value). One pass over the features of a sample gives the margins of all children.

Nodes of a tree are numbered level by level. `slot_starts` says where the children of a node begin in `children`,
which holds nodes, or labels if the node is a leaf. Values are float32, or the bits of float16 as uint16 with
`halves`, the table of all its numbers; with float32 `halves` is empty. Children within a node are uint8 or uint16,
`entry_starts` int32 or int64, whichever is enough. Dense weights of a node, if there are any, are features × children.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import AnyArray, Floats32, Integers, Ints32, Ints64, Mask
from tacit.kernels.best import Places, insert, insert_value
from tacit.kernels.dense import add_row_product

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_LEAST_LOG = np.float32(-80.0)  # lower bound, so that a label that was found has a score above 0
_ROUNDING = np.float32(1e-4)  # difference of logarithms above which probabilities differ
_MORE_LEAVES = 4  # times as many leaves are scored before the next are tried for whether they may be left out
_SPREAD = 1000  # features of a node per row in it, above which binary search replaces the lookup table


class SearchedRows(NamedTuple):
    """Samples in CSR, and a lookup table by feature, all -1; if it is empty, binary search is used throughout."""

    starts: Ints64
    features: Ints32
    values: Floats32
    table: Ints64


class Weights(NamedTuple):
    """All nodes."""

    slot_starts: Ints64
    children: Ints32
    intercepts: Floats32
    chunk_starts: Ints64
    chunk_features: Ints32
    entry_starts: Ints64
    entry_children: Integers
    values: AnyArray
    dense_values: AnyArray
    halves: Floats32


class Scoring(NamedTuple):
    """Labels that may be ranked, nodes with such labels below them, and how margins become probabilities."""

    allowed: Mask
    is_open: Mask
    power: int  # 0 for the logistic function
    path_weight: np.float32  # of the path to a leaf in the log-probabilities of its labels


class Search(NamedTuple):
    """Rows, and the tree that they are searched for: the first node of each of its levels, and the end."""

    rows: SearchedRows
    level_starts: Ints64
    weights: Weights
    scoring: Scoring


class Beams(NamedTuple):
    """Scratch: nodes and log-probabilities of this level and the next, places of a beam by node, where these start."""

    nodes: Ints32  # (2, rows, beam)
    paths: Floats32
    order: Ints64
    starts: Ints64


@njit(nogil=True, cache=True)
def fill_clusters(order: Ints64, cluster_of: Ints32, room: Ints64) -> None:
    """Put rows without a cluster, -1, into clusters with room by pairs in `order`, ``row * n_clusters + cluster``."""
    n_clusters = len(room)
    for pair in order:
        row, cluster = pair // n_clusters, pair % n_clusters
        if cluster_of[row] < 0 and room[cluster] > 0:
            cluster_of[row] = cluster
            room[cluster] -= 1


@njit(nogil=True, cache=True, inline="always")
def _log_probability(margin: np.float32, power: int) -> np.float32:
    """``log P(child | node)``: −max(0, 1 − m)^power, or with power 0 the logistic ``−log(1 + e^−m)``."""
    if power == 0:
        return np.float32(-max(-margin, _ZERO) - np.log1p(np.exp(-abs(np.float64(margin)))))
    short = max(_ZERO, _ONE - margin)
    log = -short
    for _ in range(power - 1):
        log *= short
    return log


@njit(nogil=True, cache=True, inline="always")
def _probability(log: np.float32) -> np.float32:
    """The probability that a ranking has, above 0 for every label that was found."""
    return np.float32(np.exp(np.float64(max(log, _LEAST_LOG))))


@njit(nogil=True, cache=True, inline="always")
def _first_from(features: Ints32, first: int, last: int, feature: int) -> int:
    """The first place from `first` on, or `last`, whose feature is not below `feature`."""
    step = 1
    while first + step < last and features[first + step] < feature:
        first += step
        step *= 2
    low, high = first, min(first + step, last)
    while low < high:
        middle = (low + high) // 2
        if features[middle] < feature:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True, inline="always")
def _add_entries(x: np.float32, place: int, weights: Weights, margins: Floats32) -> None:
    first, last = weights.entry_starts[place], weights.entry_starts[place + 1]
    if len(weights.halves) > 0:
        for entry in range(first, last):
            margins[weights.entry_children[entry]] += x * weights.halves[np.uint16(weights.values[entry])]
    else:
        for entry in range(first, last):
            margins[weights.entry_children[entry]] += x * np.float32(weights.values[entry])


@njit(nogil=True, cache=True, inline="always")
def _margins_by_search(rows: SearchedRows, row: int, node: int, weights: Weights, margins: Floats32) -> None:
    """Add w·x to `margins`."""
    place, last = weights.chunk_starts[node], weights.chunk_starts[node + 1]
    for at in range(rows.starts[row], rows.starts[row + 1]):
        place = _first_from(weights.chunk_features, place, last, rows.features[at])
        if place == last:
            return
        if weights.chunk_features[place] == rows.features[at]:
            _add_entries(rows.values[at], place, weights, margins)


@njit(nogil=True, cache=True, inline="always")
def _margins_by_table(rows: SearchedRows, row: int, weights: Weights, margins: Floats32) -> None:
    """The same, in the same order, with the places of the node's features in the lookup table."""
    for at in range(rows.starts[row], rows.starts[row + 1]):
        place = rows.table[rows.features[at]]
        if place >= 0:
            _add_entries(rows.values[at], place, weights, margins)


@njit(nogil=True, cache=True)
def _unpack(values: AnyArray, halves: Floats32, first: int, out: Floats32) -> None:
    """Values from a place on as float32."""
    if len(halves) > 0:
        for at in range(len(out)):
            out[at] = halves[np.uint16(values[first + at])]
    else:
        for at in range(len(out)):
            out[at] = np.float32(values[first + at])


@njit(nogil=True, cache=True, inline="always")
def _sort_by_node(nodes: Ints32, span: tuple[int, int, int, int], order: Ints64, starts: Ints64) -> None:
    """Sort the places of a beam (``row * width + place``) by their node; each node of the span begins at `starts`."""
    first, last, first_place, last_place = span
    n_rows, width = nodes.shape
    for i in range(last - first + 2):
        starts[i] = 0
    for row in range(n_rows):
        for place in range(first_place, last_place):
            if nodes[row, place] >= 0:
                starts[nodes[row, place] - first + 2] += 1
    for i in range(last - first):
        starts[i + 2] += starts[i + 1]
    for row in range(n_rows):
        for place in range(first_place, last_place):
            if nodes[row, place] >= 0:  # the start of the next node moves to where it will be
                order[starts[nodes[row, place] - first + 1]] = row * width + place
                starts[nodes[row, place] - first + 1] += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _fill_margins(
    search: Search,
    x_dense: Floats32 | None,
    nodes: Ints32,
    span: tuple[int, int, int, int],
    beams: Beams,
    out: Floats32,
) -> None:
    """The margins of all children, in `out` (rows × beam × children), of the nodes at some places of a beam.

    The span is that of nodes and that of places. Rows in the same node are processed together. Margins are always
    summed in the order of a row's features, so that a row gets bit-identical results alone and in a batch.
    """
    rows, weights, order, starts, beam = search.rows, search.weights, beams.order, beams.starts, nodes.shape[1]
    first_node, last_node, _, _ = span
    _sort_by_node(nodes, span, order, starts)
    for i in range(last_node - first_node):
        if starts[i] == starts[i + 1]:
            continue
        node = first_node + i
        first, last, slot = weights.chunk_starts[node], weights.chunk_starts[node + 1], weights.slot_starts[node]
        n_children = weights.slot_starts[node + 1] - slot
        if x_dense is not None:
            unpacked = np.empty(x_dense.shape[1] * n_children, dtype=np.float32)
            _unpack(weights.dense_values, weights.halves, x_dense.shape[1] * slot, unpacked)
            dense = unpacked.reshape(x_dense.shape[1], n_children)
        is_spread = len(rows.table) > 0 and _SPREAD * (starts[i + 1] - starts[i]) > (last - first)
        if is_spread:
            for at in range(first, last):
                rows.table[weights.chunk_features[at]] = at
        for at in range(starts[i], starts[i + 1]):
            row = order[at] // beam
            margins = out[row, order[at] - row * beam]
            for child in range(n_children):  # a slice given to a slice takes seconds to compile
                margins[child] = weights.intercepts[slot + child]
            if is_spread:
                _margins_by_table(rows, row, weights, margins)
            else:
                _margins_by_search(rows, row, node, weights, margins)
            if x_dense is not None:
                add_row_product(x_dense[row], dense, 0, n_children, margins)
        if is_spread:
            for at in range(first, last):
                rows.table[weights.chunk_features[at]] = -1


@njit(nogil=True, cache=True, inline="always")
def _follow(search: Search, nodes: Ints32, paths: Floats32, margins: Floats32, found: Ints32, logs: Floats32) -> None:
    """Fill the beam of the next level, `found` and `logs`, with the open children that have the best paths."""
    weights, scoring = search.weights, search.scoring
    for row in range(len(nodes)):
        for place in range(nodes.shape[1]):
            found[row, place] = -1
        for place in range(nodes.shape[1]):
            if nodes[row, place] < 0:
                break
            slot = weights.slot_starts[nodes[row, place]]
            for child in range(weights.slot_starts[nodes[row, place] + 1] - slot):
                node = weights.children[slot + child]
                if scoring.is_open[node]:
                    log = paths[row, place] + _log_probability(margins[row, place, child], scoring.power)
                    insert(found[row], logs[row], node, log, node + 1)


@njit(nogil=True, cache=True, inline="always")
def _score_leaves(
    search: Search, nodes: Ints32, paths: Floats32, first: int, last: int, best: Floats32, logs: Floats32
) -> None:
    """Turn margins into log-probabilities; `best` keeps the largest ones of each row's allowed labels, in order."""
    weights, scoring = search.weights, search.scoring
    for row in range(len(nodes)):
        largest = best[row]
        for place in range(first, last):
            if nodes[row, place] < 0:
                break
            slot, out = weights.slot_starts[nodes[row, place]], logs[row, place]
            for child in range(weights.slot_starts[nodes[row, place] + 1] - slot):
                of_label = _log_probability(out[child], scoring.power)
                out[child] = scoring.path_weight * paths[row, place] + of_label
                if len(largest) > 0 and out[child] > largest[-1] and scoring.allowed[weights.children[slot + child]]:
                    insert_value(largest, out[child])


@njit(nogil=True, cache=True, inline="always")
def _leave_out(nodes: Ints32, paths: Floats32, first: int, path_weight: np.float32, best: Floats32) -> None:
    """Take leaves from a place on out of the beam if none of their labels can be among the best of the row.

    A label is no more probable than the path to its leaf. Equal probabilities are not left out: the label decides.
    """
    for row in range(len(nodes)):
        least = _probability(best[row, -1])
        for place in range(first, nodes.shape[1]):
            if _probability(path_weight * paths[row, place]) < least:
                for rest in range(place, nodes.shape[1]):
                    nodes[row, rest] = -1
                break


def search_tree(search: Search, x_dense: Floats32 | None, n_best: int, leaves: Ints32, logs: Floats32) -> None:
    """Beam search in one tree.

    Fills `leaves` (rows × beam), -1 where there are fewer, and the log-probabilities `logs` (rows × beam × children)
    of the labels in these leaves. If `n_best` is not 0, leaves that cannot have one of so many best allowed labels of
    the row are left out.
    """
    n_rows, beam = leaves.shape
    beams = Beams(
        np.full((2, n_rows, beam), -1, np.int32),
        np.empty((2, n_rows, beam), np.float32),
        np.empty(n_rows * beam, np.int64),
        np.empty(len(search.weights.slot_starts) + 1, np.int64),
    )
    best = np.full((n_rows, n_best), -np.inf, np.float32)
    beams.nodes[0, :, 0], beams.paths[0, :, 0] = search.level_starts[0], 0
    leaves[:] = beams.nodes[_search(search, x_dense, beams, best, logs)]


@njit(nogil=True, cache=True)
def _search(search: Search, x_dense: Floats32 | None, beams: Beams, best: Floats32, logs: Floats32) -> int:
    """Which of the two beams has the leaves. Scratch is given, as it takes long to compile if it is made here."""
    level_starts, beam = search.level_starts, beams.nodes.shape[2]
    nodes, paths, n_levels = beams.nodes[0], beams.paths[0], len(level_starts) - 2
    none, last_place = np.int64(0), np.int64(1)  # literals would be types of their own
    for level in range(n_levels):
        span = (level_starts[level], level_starts[level + 1], none, last_place)
        _fill_margins(search, x_dense, nodes, span, beams, logs)
        found, found_paths = beams.nodes[(level + 1) % 2], beams.paths[(level + 1) % 2]
        _follow(search, nodes, paths, logs, found, found_paths)
        nodes, paths, last_place = found, found_paths, beam
    first, last = none, np.int64(1) if best.shape[1] > 0 else beam
    while first < beam:
        if first > 0:
            _leave_out(nodes, paths, first, search.scoring.path_weight, best)
        _fill_margins(search, x_dense, nodes, (level_starts[-2], level_starts[-1], first, last), beams, logs)
        _score_leaves(search, nodes, paths, first, last, best, logs)
        first, last = last, min(_MORE_LEAVES * last, beam)
    return n_levels % 2


def rank_leaves(leaves: Ints32, logs: Floats32, weights: Weights, places: Places) -> None:
    """Rank the allowed labels by their mean probability over trees.

    `leaves` and `logs` are those of `search_tree`, with trees as their first axis. The probability is 0 in a tree whose
    beam did not reach the label.
    """
    if len(leaves) == 1:
        _rank_found(leaves[0], logs[0], weights, places)
    else:
        totals, found = np.zeros(len(places.allowed), np.float32), np.empty(len(places.allowed), np.int32)
        _rank_means(leaves, logs, weights, places, totals, found)


@njit(nogil=True, cache=True)
def _rank_found(leaves: Ints32, logs: Floats32, weights: Weights, places: Places) -> None:
    """Rank the labels of one tree; most are far below the last place, which is seen without their probability."""
    labels, scores, allowed = places
    for row in range(len(leaves)):
        least = np.float32(-np.inf)
        for place in range(leaves.shape[1]):
            if leaves[row, place] < 0:
                break
            slot = weights.slot_starts[leaves[row, place]]
            for child in range(weights.slot_starts[leaves[row, place] + 1] - slot):
                log, label = max(logs[row, place, child], _LEAST_LOG), weights.children[slot + child]
                if log >= least and allowed[label]:
                    insert(labels[row], scores[row], label, _probability(log), 0)
                    if labels[row, -1] >= 0:
                        least = np.float32(np.log(np.float64(scores[row, -1]))) - _ROUNDING


@njit(nogil=True, cache=True)
def _rank_means(
    leaves: Ints32, logs: Floats32, weights: Weights, places: Places, totals: Floats32, found: Ints32
) -> None:
    """Rank by means over trees; `totals`, by label, are all 0."""
    labels, scores, allowed = places
    n_trees, n_rows, beam = leaves.shape
    for row in range(n_rows):
        n_found = 0
        for tree in range(n_trees):
            for place in range(beam):
                leaf = leaves[tree, row, place]
                if leaf < 0:
                    break
                slot = weights.slot_starts[leaf]
                for child in range(weights.slot_starts[leaf + 1] - slot):
                    label = weights.children[slot + child]
                    if not allowed[label]:
                        continue
                    if totals[label] == _ZERO:
                        found[n_found] = label
                        n_found += 1
                    totals[label] += _probability(logs[tree, row, place, child])
        for label in found[:n_found]:
            insert(labels[row], scores[row], label, totals[label] / np.float32(n_trees), 0)
            totals[label] = _ZERO
