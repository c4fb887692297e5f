"""An export as it comes, with repeats, blanks and Excel's quirks: what is promised of new rows holds on them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

N_LABELS, N_COMMON = 200, 2000
FIELDS = ("--text", "Description", "--labels", "Tags")


class Packages:
    """Descriptions of packages: some words of most of their tags, one of another tag, and words that any may have."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.common = self.words(N_COMMON)
        self.tags = [f"{kind}::{word}" for kind, word in zip(["use", "role"] * N_LABELS, self.words(N_LABELS))]  # noqa: B905
        self.own = [[*self.words(8), *self.rng.choice(self.common, 4)] for _ in self.tags]
        self.frequency = falling(3, N_LABELS, 0.8)
        self.n_drawn = 0

    def words(self, n: int) -> list[str]:
        return ["".join(self.rng.choice(list("abcdefghiklmnoprstuvw"), self.rng.integers(4, 10))) for _ in range(n)]

    def draw(self, n: int) -> list[dict[str, str]]:
        return [self.package() for _ in range(n)]

    def package(self) -> dict[str, str]:
        rng = self.rng
        *mine, other = rng.choice(N_LABELS, 2 + min(rng.poisson(1.7), 6), replace=False, p=self.frequency)
        told = [word for tag in mine if rng.random() < 0.8 for word in rng.choice(self.own[tag], rng.integers(1, 4))]
        rest = rng.choice(self.common, rng.integers(8, 25), p=falling(5, N_COMMON, 1.0))
        words = rng.permutation([*told, rng.choice(self.own[other]), *rest])
        self.n_drawn += 1
        half = len(words) // 2
        text = f"{' '.join(words[:half])};\r\n {' '.join(words[half:])}."
        return {
            "ID": str(self.n_drawn),
            "Description": text.capitalize(),
            "Tags": ", ".join(sorted(self.tags[tag] for tag in mine)),
        }

    def again(self, rows: list[dict[str, str]], n: int) -> list[dict[str, str]]:
        """Some of the rows once more, as an export has them: other ids, other blanks, other case."""
        changes = (str, str.upper, lambda text: f" {text}  ".replace(" ", "\u00a0 "))
        chosen = self.rng.choice(len(rows), n)
        return [
            {**rows[row], "ID": f"copy {place}", "Description": changes[place % 3](rows[row]["Description"])}
            for place, row in enumerate(chosen)
        ]

    def blanks(self, n: int) -> list[dict[str, str]]:
        """Rows without a text, without tags, and without either."""
        rows = self.draw(n)
        return [
            {**row, **({"Description": " "}, {"Tags": ""}, {"Description": "", "Tags": ""})[i % 3]}
            for i, row in enumerate(rows)
        ]


def falling(first: int, n: int, power: float) -> np.ndarray:
    shares = np.arange(first, first + n) ** -power
    return shares / shares.sum()


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    """As Excel does: a byte order mark, semicolons, quoted line breaks, an empty last row."""
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        table = csv.DictWriter(file, list(rows[0]), delimiter=";", lineterminator="\r\n")
        table.writeheader()
        table.writerows([*rows, dict.fromkeys(rows[0], "")])
    return path


def run(tacit, *arguments) -> str:
    done = tacit(*arguments)
    assert done.code == 0, done.err
    return done.out


def test_a_target_is_met_on_new_rows_whatever_repeats(tacit, tmp_path):
    made = Packages()
    old, later, fresh = made.draw(2000), made.draw(400), made.draw(1500)
    first = [*old, *made.again(old, 1000), *made.blanks(30)]
    second = [*later, *made.again(later, 200), *made.again(old, 300), *first[:300]]
    files = [
        write(tmp_path / f"{name}.csv", [rows[row] for row in made.rng.permutation(len(rows))])
        for name, rows in (("first", first), ("second", second), ("fresh", fresh))
    ]
    model = tmp_path / "model"
    run(tacit, "train", files[0], *FIELDS, "--keep-texts", "--out", model)
    updated = run(tacit, "update", model, files[1], *FIELDS)
    assert 600 <= int(re.search(r"left out (\d+)", updated)[1]) <= 601  # the empty row may count
    assert "nothing is new" in run(tacit, "update", model, files[1], *FIELDS)

    promised = json.loads(run(tacit, "inspect", model, "--json"))["held_out_metrics"]
    found = json.loads(run(tacit, "evaluate", model, files[2], *FIELDS, "--json"))
    assert promised["P@1"] < found["P@1"] + 0.05
    assert found["share_in_training"] == 0
    lines = run(tacit, "suggest", model, files[2], *FIELDS, "--threshold", "precision=0.8", "--id", "ID").splitlines()
    truth = {row["ID"]: row["Tags"].split(", ") for row in fresh}
    answers = [json.loads(line) for line in lines]
    right = [each["label"] in truth[answer["ID"]] for answer in answers for each in answer["suggestions"]]
    assert np.mean(right) == pytest.approx(0.8, abs=0.05)
    assert len(right) > len(fresh)
