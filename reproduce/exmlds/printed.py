"""The figures that the ExMLDS paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Figures = Mapping[str, Mapping[str, Sequence[float | None]]]

#: Table 1: features, labels, training and test samples.
TABLE1 = {
    "bibtex": (1836, 159, 4880, 2515),
    "delicious": (500, 983, 12920, 3185),
    "eurlex": (5000, 3993, 15539, 3809),
    "rcv1": (47236, 101, 3000, 3000),
    "delicious-200k": (782585, 205443, 196606, 100095),
    "mediamill": (120, 101, 30993, 12914),
}

#: Table 2: seconds of training, on 40 cores.
TABLE2: Figures = {
    "bibtex": {"ExMLDS1": (23,), "ExMLDS2": (143.19,), "SLEEC": (313,)},
    "delicious": {"ExMLDS1": (259,), "ExMLDS2": (781.94,), "SLEEC": (1351,)},
    "eurlex": {"ExMLDS1": (580.9,), "ExMLDS2": (880.64,), "SLEEC": (4660,)},
    "mediamill": {"ExMLDS1": (1200,), "ExMLDS2": (12000,), "SLEEC": (8912,)},
    "delicious-200k": {"ExMLDS1": (1937,), "ExMLDS2": (13000,), "SLEEC": (10000,)},
}

#: Table 3: P@1, P@3, P@5.
TABLE3: Figures = {
    "bibtex": {
        "ExMLDS1": (63.38, 38.00, 27.64),
        "DXML": (63.69, 37.63, 27.71),
        "SLEEC": (65.29, 39.60, 28.63),
        "LEML": (62.54, 38.41, 28.21),
        "PD-Sparse": (61.29, 35.82, 25.74),
        "PfastreXML": (63.46, 39.22, 29.14),
        "FastXML": (63.42, 39.23, 28.86),
        "One-vs-all": (62.62, 39.09, 28.79),
    },
    "delicious": {
        "ExMLDS1": (67.94, 61.35, 56.3),
        "DXML": (67.57, 61.15, 56.7),
        "SLEEC": (68.10, 61.78, 57.34),
        "LEML": (65.67, 60.55, 56.08),
        "PD-Sparse": (51.82, 44.18, 38.95),
        "PfastreXML": (67.13, 62.33, 58.62),
        "FastXML": (69.61, 64.12, 59.27),
        "One-vs-all": (65.01, 58.88, 53.28),
    },
    "eurlex": {
        "ExMLDS1": (77.55, 64.18, 52.51),
        "DXML": (77.13, 64.21, 52.31),
        "SLEEC": (79.52, 64.27, 52.32),
        "LEML": (63.40, 50.35, 41.28),
        "PD-Sparse": (76.43, 60.37, 49.72),
        "PfastreXML": (75.45, 62.70, 52.51),
        "FastXML": (71.36, 59.90, 50.39),
        "One-vs-all": (79.89, 66.01, 53.80),
        "DiSMEC": (82.40, 68.50, 57.70),
    },
    "mediamill": {
        "ExMLDS1": (87.49, 72.62, 58.46),
        "DXML": (88.71, 71.65, 56.81),
        "SLEEC": (87.37, 72.6, 58.39),
        "LEML": (84.01, 67.20, 52.80),
        "PD-Sparse": (81.86, 62.52, 45.11),
        "PfastreXML": (83.98, 67.37, 53.02),
        "FastXML": (84.22, 67.33, 53.04),
        "One-vs-all": (83.57, 65.60, 48.57),
    },
    "delicious-200k": {
        "ExMLDS1": (46.07, 41.15, 38.57),
        "DXML": (44.13, 39.88, 37.20),
        "SLEEC": (47.50, 42.00, 39.20),
        "LEML": (40.73, 37.71, 35.84),
        "PD-Sparse": (34.37, 29.48, 27.04),
        "PfastreXML": (41.72, 37.83, 35.58),
        "FastXML": (43.07, 38.66, 36.19),
        "DiSMEC": (45.50, 38.70, 35.50),
    },
}

#: Table 4: P@1, P@3, P@5 with 80 % of the training positives hidden.
TABLE4: Figures = {
    "bibtex": {
        "ExMLDS3": (48.51, 28.43, 20.7),
        "SLEEC": (30.5, 14.9, 9.81),
        "LEML": (35.98, 21.02, 15.50),
        "LEML-IMC": (41.23, 25.25, 18.56),
    },
    "eurlex": {
        "ExMLDS3": (60.28, 44.87, 35.31),
        "SLEEC": (51.4, 37.64, 29.62),
        "LEML": (26.22, 22.94, 19.02),
        "LEML-IMC": (39.24, 32.66, 26.54),
    },
    "rcv1": {
        "ExMLDS3": (81.67, 52.82, 37.74),
        "SLEEC": (41.8, 17.48, 10.63),
        "LEML": (64.83, 42.56, 31.68),
        "LEML-IMC": (73.68, 48.56, 34.82),
    },
}

#: Table 5: P@1 to P@5, then nDCG@1 to nDCG@5.
TABLE5: Figures = {
    key: {"Joint ExMLDS": values}
    for key, values in {
        "amazoncat": (93.05, 86.56, 79.18, 72.06, 64.54, 93.05, 89.60, 87.72, 86.35, 85.92),
        "wiki10": (86.82, 80.44, 74.30, 68.61, 63.68, 86.82, 81.89, 77.22, 72.92, 69.13),
        "delicious-200k": (47.70, 43.67, 41.22, 39.37, 37.98, 47.70, 44.63, 42.75, 41.34, 40.27),
        "wikilshtc": (62.15, 48.37, 39.58, 33.52, 29.10, 62.15, 57.00, 55.20, 54.77, 54.84),
        "wikipedia": (62.27, 49.60, 41.43, 35.68, 31.42, 62.27, 55.23, 52.11, 50.59, 49.88),
        "amazon-670k": (41.47, 38.58, 36.35, 34.20, 32.43, 41.47, 39.73, 38.41, 37.31, 36.46),
    }.items()
}
