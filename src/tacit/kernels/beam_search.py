"""Clusters of bounded size, and beam search in trees over labels.

The weights of a node (a chunk) are stored by feature: its features in ascending order, and for each of them its
entries (child, value). One pass over the features of a sample gives the margins of all children.

Nodes of a tree are numbered level by level. `slot_starts` says where the children of a node begin in `children`,
which holds nodes, or labels if the node is a leaf. Values are float32, or the bits of float16 as uint16 with
`halves`, the table of all its numbers; with float32 `halves` is empty. Children within a node are uint8 or uint16,
`entry_starts` int32 or int64, whichever is enough. Dense weights of a node, if there are any, are features × children.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.arrays import Floats32, Integers, Ints32, Ints64, Mask
from tacit.kernels.dense import add_row_product

Rows = tuple[Ints64, Ints32, Floats32, Ints64]
Weights = tuple[
    Ints64, Floats32, Ints64, Ints32, Ints64, Integers, npt.NDArray[np.generic], npt.NDArray[np.generic], Floats32
]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_LEAST_LOG = np.float32(-80.0)  # lower bound, so that a label that was found has a score above 0
_ROUNDING = np.float32(1e-4)  # difference of logarithms above which probabilities differ
_MORE_LEAVES = 4  # times as many leaves are scored before the next are tried for whether they may be left out
_SPREAD = 1000  # features of a node per row in it, above which binary search replaces the lookup table


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
def _add_entries(
    x: np.float32,
    first: int,
    last: int,
    entry_children: Integers,
    values: npt.NDArray[np.generic],
    halves: Floats32,
    margins: Floats32,
) -> None:
    if len(halves) > 0:
        for entry in range(first, last):
            margins[entry_children[entry]] += x * halves[np.uint16(values[entry])]
    else:
        for entry in range(first, last):
            margins[entry_children[entry]] += x * np.float32(values[entry])


@njit(nogil=True, cache=True, inline="always")
def _margins_by_search(
    x_features: Ints32,
    x_values: Floats32,
    first: int,
    last: int,
    features: Ints32,
    entry_starts: Ints64,
    entry_children: Integers,
    values: npt.NDArray[np.generic],
    halves: Floats32,
    margins: Floats32,
) -> None:
    """Add w·x to `margins`; the features of the node are those from `first` to `last`."""
    place = first
    for at in range(len(x_features)):
        place = _first_from(features, place, last, x_features[at])
        if place == last:
            return
        if features[place] == x_features[at]:
            _add_entries(
                x_values[at], entry_starts[place], entry_starts[place + 1], entry_children, values, halves, margins
            )


@njit(nogil=True, cache=True, inline="always")
def _margins_by_map(
    x_features: Ints32,
    x_values: Floats32,
    places: Ints64,
    entry_starts: Ints64,
    entry_children: Integers,
    values: npt.NDArray[np.generic],
    halves: Floats32,
    margins: Floats32,
) -> None:
    """The same, in the same order, with a lookup table of the features of the node; -1 for features it lacks."""
    for at in range(len(x_features)):
        place = places[x_features[at]]
        if place >= 0:
            _add_entries(
                x_values[at], entry_starts[place], entry_starts[place + 1], entry_children, values, halves, margins
            )


@njit(nogil=True, cache=True)
def _unpack(values: npt.NDArray[np.generic], halves: Floats32, first: int, out: Floats32) -> None:
    """Values from a place on as float32."""
    if len(halves) > 0:
        for at in range(len(out)):
            out[at] = halves[np.uint16(values[first + at])]
    else:
        for at in range(len(out)):
            out[at] = np.float32(values[first + at])


@njit(nogil=True, cache=True, inline="always")
def _insert(nodes: Ints32, logs: Floats32, node: int, log: np.float32) -> None:
    """Insert a node into a beam if it is better than the last one; equal ones keep their order."""
    place = len(nodes) - 1
    if nodes[place] >= 0 and log <= logs[place]:
        return
    while place > 0 and (nodes[place - 1] < 0 or logs[place - 1] < log):
        nodes[place], logs[place] = nodes[place - 1], logs[place - 1]
        place -= 1
    nodes[place], logs[place] = node, log


@njit(nogil=True, cache=True, inline="always")
def _sort_by_node(
    nodes: Ints32, first_place: int, last_place: int, first: int, last: int, order: Ints64, starts: Ints64
) -> None:
    """Sort the places of a beam (``row * width + place``) by their node; each node from `first` begins at `starts`."""
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
    rows: Rows,
    x_dense: Floats32 | None,
    first_node: int,
    last_node: int,
    weights: Weights,
    nodes: Ints32,
    first_place: int,
    last_place: int,
    order: Ints64,
    starts: Ints64,
    out: Floats32,
) -> None:
    """The margins of all children, in `out` (rows × beam × children), of the nodes at some places of a beam.

    Rows in the same node are processed together. Margins are always summed in the order of a row's features, so that
    a row gets bit-identical results alone and in a batch.
    """
    x_starts, x_features, x_values, table = rows
    slot_starts, intercepts, chunk_starts, features, entry_starts, entry_children, values, dense_values, halves = (
        weights
    )
    beam = nodes.shape[1]
    _sort_by_node(nodes, first_place, last_place, first_node, last_node, order, starts)
    for i in range(last_node - first_node):
        if starts[i] == starts[i + 1]:
            continue
        node = first_node + i
        first, last, slot = chunk_starts[node], chunk_starts[node + 1], slot_starts[node]
        n_children = slot_starts[node + 1] - slot
        if x_dense is not None:
            unpacked = np.empty(x_dense.shape[1] * n_children, dtype=np.float32)
            _unpack(dense_values, halves, x_dense.shape[1] * slot, unpacked)
            dense = unpacked.reshape(x_dense.shape[1], n_children)
        is_spread = len(table) > 0 and _SPREAD * (starts[i + 1] - starts[i]) > (last - first)
        if is_spread:
            for at in range(first, last):
                table[features[at]] = at
        for at in range(starts[i], starts[i + 1]):
            row = order[at] // beam
            margins = out[row, order[at] - row * beam]
            x, v = x_features[x_starts[row] : x_starts[row + 1]], x_values[x_starts[row] : x_starts[row + 1]]
            for child in range(n_children):  # a slice given to a slice takes seconds to compile
                margins[child] = intercepts[slot + child]
            if is_spread:
                _margins_by_map(x, v, table, entry_starts, entry_children, values, halves, margins)
            else:
                _margins_by_search(x, v, first, last, features, entry_starts, entry_children, values, halves, margins)
            if x_dense is not None:
                add_row_product(x_dense[row], dense, 0, n_children, margins)
        if is_spread:
            for at in range(first, last):
                table[features[at]] = -1


@njit(nogil=True, cache=True, inline="always")
def _follow(
    nodes: Ints32,
    paths: Floats32,
    margins: Floats32,
    slot_starts: Ints64,
    children: Ints32,
    is_open: Mask,
    power: int,
    found: Ints32,
    logs: Floats32,
) -> None:
    """Fill the beam of the next level, `found` and `logs`, with the open children that have the best paths."""
    for row in range(len(nodes)):
        for place in range(nodes.shape[1]):
            found[row, place] = -1
        for place in range(nodes.shape[1]):
            if nodes[row, place] < 0:
                break
            slot = slot_starts[nodes[row, place]]
            for child in range(slot_starts[nodes[row, place] + 1] - slot):
                if is_open[children[slot + child]]:
                    log = paths[row, place] + _log_probability(margins[row, place, child], power)
                    _insert(found[row], logs[row], children[slot + child], log)


@njit(nogil=True, cache=True, inline="always")
def _score_leaves(
    nodes: Ints32,
    paths: Floats32,
    first_place: int,
    last_place: int,
    slot_starts: Ints64,
    children: Ints32,
    allowed: Mask,
    power: int,
    path_weight: np.float32,
    best: Floats32,
    logs: Floats32,
) -> None:
    """Turn margins into log-probabilities; `best` keeps the largest ones of each row's allowed labels, in order."""
    for row in range(len(nodes)):
        largest = best[row]
        for place in range(first_place, last_place):
            if nodes[row, place] < 0:
                break
            slot, out = slot_starts[nodes[row, place]], logs[row, place]
            for child in range(slot_starts[nodes[row, place] + 1] - slot):
                out[child] = path_weight * paths[row, place] + _log_probability(out[child], power)
                if len(largest) > 0 and out[child] > largest[-1] and allowed[children[slot + child]]:
                    at = len(largest) - 1
                    while at > 0 and largest[at - 1] < out[child]:
                        largest[at] = largest[at - 1]
                        at -= 1
                    largest[at] = out[child]


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


@njit(nogil=True, cache=True)
def search_tree(
    rows: Rows,
    x_dense: Floats32 | None,
    level_starts: Ints64,
    weights: Weights,
    children: Ints32,
    is_open: Mask,
    allowed: Mask,
    power: int,
    path_weight: np.float32,
    beams: Ints32,
    beam_paths: Floats32,
    order: Ints64,
    starts: Ints64,
    best: Floats32,
    leaves: Ints32,
    logs: Floats32,
) -> None:
    """Beam search in one tree.

    Fills `leaves` (rows × beam), -1 where there are fewer, and the log-probabilities `logs` (rows × beam × children)
    of the labels in these leaves, in which that of the path to the leaf counts with `path_weight`. If `best` (rows ×
    labels) has columns, leaves that cannot have one of so many best allowed labels of the row are left out.

    `rows` are CSR arrays and a lookup table, all -1, one entry per feature; if it is empty,
    binary search is used throughout. `x_dense` are the dense rows, or None. Room, which takes time to compile if it is
    made here: `beams` and `beam_paths` (2 × rows × beam), `order` (rows · beam) and `starts` (nodes of a level + 2).
    """
    n_rows, beam = leaves.shape
    slot_starts, none, last_place = weights[0], np.int64(0), np.int64(1)  # literals would be types of their own
    nodes, paths = beams[0], beam_paths[0]
    for row in range(n_rows):
        for place in range(beam):
            nodes[row, place] = -1
        nodes[row, 0], paths[row, 0] = level_starts[0], _ZERO
        for place in range(best.shape[1]):
            best[row, place] = -np.inf
    for level in range(len(level_starts) - 2):
        first_node, last_node = level_starts[level], level_starts[level + 1]
        _fill_margins(rows, x_dense, first_node, last_node, weights, nodes, none, last_place, order, starts, logs)
        found, found_paths = beams[(level + 1) % 2], beam_paths[(level + 1) % 2]
        _follow(nodes, paths, logs, slot_starts, children, is_open, power, found, found_paths)
        nodes, paths, last_place = found, found_paths, beam
    first, last = none, np.int64(1) if best.shape[1] > 0 else beam
    while first < beam:
        if first > 0:
            _leave_out(nodes, paths, first, path_weight, best)
        _fill_margins(
            rows, x_dense, level_starts[-2], level_starts[-1], weights, nodes, first, last, order, starts, logs
        )
        _score_leaves(nodes, paths, first, last, slot_starts, children, allowed, power, path_weight, best, logs)
        first, last = last, min(_MORE_LEAVES * last, beam)
    for row in range(n_rows):  # a slice given to a slice takes seconds to compile
        for place in range(beam):
            leaves[row, place] = nodes[row, place]


@njit(nogil=True, cache=True)
def _offer(labels: Ints32, scores: Floats32, label: int, score: np.float32) -> None:
    """Insert a label into a row of a ranking if it is among the best so far; equal scores: smaller label first."""
    place = len(labels) - 1
    if labels[place] >= 0 and (score < scores[place] or (score == scores[place] and label > labels[place])):
        return
    while place > 0 and (
        labels[place - 1] < 0 or scores[place - 1] < score or (scores[place - 1] == score and labels[place - 1] > label)
    ):
        labels[place], scores[place] = labels[place - 1], scores[place - 1]
        place -= 1
    labels[place], scores[place] = label, score


@njit(nogil=True, cache=True)
def rank_found(
    leaves: Ints32,
    logs: Floats32,
    slot_starts: Ints64,
    children: Ints32,
    allowed: Mask,
    labels: Ints32,
    scores: Floats32,
) -> None:
    """Rank the allowed labels of one tree in `labels` and `scores`, which are -1 and -inf where there are fewer.

    `leaves` (rows × beam) and `logs` (rows × beam × children) are those of `search_tree`. Most labels are far below the
    last place, which is seen without their probability.
    """
    for row in range(len(leaves)):
        least = np.float32(-np.inf)
        for place in range(leaves.shape[1]):
            if leaves[row, place] < 0:
                break
            slot = slot_starts[leaves[row, place]]
            for child in range(slot_starts[leaves[row, place] + 1] - slot):
                log = max(logs[row, place, child], _LEAST_LOG)
                if log >= least and allowed[children[slot + child]]:
                    _offer(labels[row], scores[row], children[slot + child], _probability(log))
                    if labels[row, -1] >= 0:
                        least = np.float32(np.log(np.float64(scores[row, -1]))) - _ROUNDING


@njit(nogil=True, cache=True)
def rank_means(
    leaves: Ints32,
    logs: Floats32,
    slot_starts: Ints64,
    children: Ints32,
    allowed: Mask,
    totals: Floats32,
    found: Ints32,
    labels: Ints32,
    scores: Floats32,
) -> None:
    """The same by the mean probability over trees, which is 0 in a tree whose beam did not reach the label.

    `leaves` and `logs` have trees as their first axis. Room, by label: `totals`, all 0, and `found`.
    """
    n_trees, n_rows, beam = leaves.shape
    for row in range(n_rows):
        n_found = 0
        for tree in range(n_trees):
            for place in range(beam):
                leaf = leaves[tree, row, place]
                if leaf < 0:
                    break
                slot = slot_starts[leaf]
                for child in range(slot_starts[leaf + 1] - slot):
                    label = children[slot + child]
                    if not allowed[label]:
                        continue
                    if totals[label] == _ZERO:
                        found[n_found] = label
                        n_found += 1
                    totals[label] += _probability(logs[tree, row, place, child])
        for label in found[:n_found]:
            _offer(labels[row], scores[row], label, totals[label] / np.float32(n_trees))
            totals[label] = _ZERO
