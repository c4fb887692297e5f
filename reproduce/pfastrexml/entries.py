"""Table 1 and Theorems 4.1 to 4.4 of the PfastreXML paper."""

from __future__ import annotations

from reproduce.exmlds import settings as embeddings
from reproduce.pfastrexml import printed, settings
from reproduce.pfastrexml.theorems import PAPER, theorem41, theorem42, theorem43, theorem44
from reproduce.recipes import Case, Recipe
from reproduce.tables import P135, Group, Method, Order, Table

_METHODS = (
    Method("Popularity", Recipe("Popularity"), Recipe("Popularity")),
    Method("1-vs-All", None, Recipe("OneVsAll")),
    Method("SLEEC", Recipe("SLEEC", embeddings.SLEEC, embeddings.BY_SET, True), Recipe("SLEEC")),
    *(Method(name, Recipe(f"baseline:{name}")) for name in ("LEML", "WSABIE", "CPLST", "CS", "ML-CSSP")),
    Method("FastXML", Recipe("FastXML", settings.FASTXML, is_printed=True), Recipe("FastXML")),
    Method("LPSR", Recipe("baseline:LPSR")),
    Method("PfastXML", Recipe("PfastXML", settings.PFASTXML, settings.BY_SET, True), Recipe("PfastXML")),
    Method("PfastreXML", Recipe("PfastreXML", settings.PFASTREXML, settings.BY_SET, True), Recipe("PfastreXML")),
)
_EXACT = "reproduce.pfastrexml.exact_centres:ExactPfastreXML"
_CLAIMS = (Order("PfastreXML", "FastXML"), Order("PfastreXML", "FastXML", "P@5"))

table1 = Table(
    PAPER,
    "table1",
    "all methods on six sets",
    tuple(Case(key) for key in printed.TABLE1),
    _METHODS,
    printed.TABLE1,
    (Group("nDCG@1/3/5", ("nDCG@1", "nDCG@3", "nDCG@5")), P135),
    _CLAIMS,
)

small = Table(
    PAPER,
    "small",
    "the methods of Table 1 on two small sets, printed figures of the Extreme Classification Repository",
    tuple(Case(key) for key in printed.REPOSITORY),
    _METHODS,
    printed.REPOSITORY,
    orders=_CLAIMS,
)

centres = Table(
    PAPER,
    "centres",
    "tail classifiers with exact centres",
    (Case("bibtex"),),
    (
        Method("PfastreXML", Recipe("PfastreXML", settings.PFASTREXML, settings.BY_SET, True), Recipe("PfastreXML")),
        Method(
            "with exact centres (Eq. 43)",
            Recipe(_EXACT, settings.PFASTREXML, settings.BY_SET, True),
            Recipe(_EXACT, {"centre_features": 2**31 - 1}),
        ),
    ),
)

ENTRIES = (table1, small, centres, theorem41, theorem42, theorem43, theorem44)
