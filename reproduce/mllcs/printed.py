"""The figures that the ML-LCS paper prints, in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Figures = Mapping[str, Mapping[str, Sequence[float | None]]]

#: Table 1: training and test samples, features, seen and unseen labels.
TABLE1 = {
    "bibtex": (4880, 2515, 1836, 80, 79),
    "mediamill": (30993, 12914, 120, 50, 51),
    "delicious": (12920, 3185, 500, 500, 483),
}

#: Table 2: P@1, P@3, P@5 of seen and unseen labels ranked together.
TABLE2: Figures = {
    "bibtex": {"LFM-SL": (42, 23, 17), "COSTA": (43, 31, 25), "ML-LCS": (51, 37, 30)},
    "mediamill": {"LFM-SL": (64, 34, 24), "COSTA": (63, 22, 13), "ML-LCS": (73, 60, 48)},
    "delicious": {"LFM-SL": (41, 28, 23), "COSTA": (44, 37, 30), "ML-LCS": (52, 45, 41)},
}

#: Table 3: P@1, P@3, P@5 of unseen labels only.
TABLE3: Figures = {"bibtex": {"COSTA": (23, 16, 12), "ML-LCS": (34, 20, 14)}}

#: Table 4: P@1, P@3, P@5 with all labels seen.
TABLE4: Figures = {"bibtex": {"LFM-SL": (62.8, 37.4, 27.3), "ML-LCS": (64.3, 39.8, 29.3)}}
