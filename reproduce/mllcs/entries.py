"""Tables 1 to 4 and Figures 1 to 3 of the ML-LCS paper, and ablations of Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reproduce.mllcs import printed, settings
from reproduce.recipes import Case, Recipe
from reproduce.report import Report
from reproduce.sizes import Statistics
from reproduce.tables import P135, Group, Method, Options, Order, Table

PAPER = "mllcs"

LFM = Method("LFM-SL", Recipe("LFM", settings.LFM, settings.BY_SET, True), Recipe("LFM"))
COSTA = Method("COSTA", Recipe("COSTA", settings.COSTA, settings.BY_SET, True), Recipe("COSTA"))
MLLCS = Method("ML-LCS", Recipe("MLLCS", settings.MLLCS, settings.BY_SET, True), Recipe("MLLCS"))
MATCHING = Method("MomentMatching", None, Recipe("MomentMatching"))

_UNSEEN = Group("unseen P@1/3/5", ("unseen P@1", "unseen P@3", "unseen P@5"))

table1 = Statistics(
    PAPER,
    "table1",
    "sizes of the data sets",
    ("training samples", "test samples", "features", "seen labels", "unseen labels"),
    printed.TABLE1,
)

table2 = Table(
    PAPER,
    "table2",
    "half of the labels unseen, all labels ranked",
    tuple(Case(key, "unseen", {"share": settings.UNSEEN}) for key in printed.TABLE2),
    (LFM, COSTA, MLLCS, MATCHING),
    printed.TABLE2,
    orders=(Order("ML-LCS", "COSTA"), Order("ML-LCS", "LFM-SL"), Order("COSTA", "LFM-SL")),
)

table3 = Table(
    PAPER,
    "table3",
    "half of the labels unseen, unseen labels ranked",
    (Case("bibtex", "unseen", {"share": settings.UNSEEN}),),
    (COSTA, MLLCS, MATCHING),
    printed.TABLE3,
    (_UNSEEN,),
    (Order("ML-LCS", "COSTA", "unseen P@1"),),
)

table4 = Table(
    PAPER,
    "table4",
    "all labels seen",
    (Case("bibtex", "all_seen"),),
    (LFM, MLLCS),
    printed.TABLE4,
    orders=(Order("ML-LCS", "LFM-SL"),),
)

ablation = Table(
    PAPER,
    "ablation",
    "what makes the difference in Table 4",
    (
        Case("bibtex", "all_seen"),
        Case("bibtex", "unseen", {"share": settings.UNSEEN}, label="half of the labels unseen"),
    ),
    (
        Method("LFM", None, Recipe("LFM")),
        Method("MLLCS, linear Ψ", None, Recipe("MLLCS", {"mapping": "linear"})),
        Method("MLLCS, moments for unseen labels only", None, Recipe("MLLCS", {"count_positives": 0.0})),
        Method("MLLCS, default", None, Recipe("MLLCS")),
    ),
)

_LINEAR = {"mapping": "linear"}
_PRINTED_ONE_BY_ONE: Mapping[str, Mapping[str, Any]] = {
    "r = 5": {"dispersion": 5.0},
    "counts in full": {"count_weight": 1.0},
    "counts of labels with themselves": {"own_counts": True},
    "λ of Ψ = 1": {"lambda_psi": 1.0},
    "K = 0.8 L": {"n_factors": 0.8},
    "500 sweeps": {"n_sweeps": 500},
    "no calibration": {"calibration_folds": 0},
}

ablation3 = Table(
    PAPER,
    "ablation3",
    "what makes the difference in Table 3: tacit's settings with a linear Ψ, and each printed one in their place",
    (Case("bibtex", "unseen", {"share": settings.UNSEEN}),),
    (
        Method("MLLCS, linear Ψ", None, Recipe("MLLCS", _LINEAR)),
        *(Method(name, None, Recipe("MLLCS", {**_LINEAR, **step})) for name, step in _PRINTED_ONE_BY_ONE.items()),
        Method("all as printed", MLLCS.paper),
    ),
    groups=(P135, _UNSEEN),
    n_seeds=1,
)


@dataclass(frozen=True)
class Diagram:
    """Figure 1, which has no figures to compare."""

    paper: str = PAPER
    name: str = "figure1"
    title: str = "the model in plate notation"

    def report(self, options: Options) -> Report:  # noqa: ARG002 - entries are called alike
        """The variables and their distributions."""
        rows = [
            ["y", "Bernoulli, log-odds u·v", "label of a sample", "Eq. 1"],
            ["u", "normal around Wᵀx", "factors of a sample", "Eq. 2"],
            ["v", "normal around 0", "factors of a seen label, shared by y and m", "Eq. 3"],
            ["β", "normal around 0", "type-2 factors of any label", "Eq. 4"],
            ["m", "negative binomial, log-odds v·β", "co-occurrence of a seen and any label", "Eq. 5"],
        ]
        return Report(["variable", "distribution", "what", "where"], rows)


def _share(share: float) -> Case:
    return Case("bibtex", "unseen", {"share": round(1 - share, 1)}, label=f"{share:.0%} seen")


figure2 = Table(
    PAPER,
    "figure2",
    "share of seen labels",
    tuple(_share(share) for share in settings.SEEN_SHARES),
    (COSTA, MLLCS),
    groups=(Group("P@1/3", ("P@1", "P@3")),),
    orders=(Order("ML-LCS", "COSTA"), Order("ML-LCS", "COSTA", "P@3")),
    n_seeds=2,
)

figure3 = Table(
    PAPER,
    "figure3",
    "P@1 over the sweeps of EM",
    tuple(
        Case("bibtex", "unseen", {"share": settings.UNSEEN}, {"n_sweeps": n}, f"{n} sweeps") for n in settings.SWEEPS
    ),
    (COSTA, MLLCS),
    groups=(Group("P@1", ("P@1",)),),
    orders=(Order("ML-LCS", "COSTA"),),
    n_seeds=1,
)

ENTRIES = (table1, table2, table3, table4, ablation, ablation3, Diagram(), figure2, figure3)
