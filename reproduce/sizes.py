"""Tables that describe data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reproduce.report import NONE, Report
from reproduce.sets import SETS, Data, Source
from reproduce.tables import Options
from tacit.data.split import hold_out_labels


@dataclass(frozen=True)
class Statistics:
    """A table of sizes: features, labels, training and test samples."""

    paper: str
    name: str
    title: str
    columns: tuple[str, ...]
    printed: Mapping[str, tuple[int, ...]]

    def report(self, options: Options) -> Report:
        """Count what is there."""
        options.check(self, self.printed)
        report = Report(["set", "count", "printed", "here", "judgement"])
        for key, printed in self.printed.items():
            if not options.wants(key, options.sets):
                continue
            source = Source(key, options.is_toy)
            if not source.folder:
                report.notes.append(f"left out: {source.left_out}")
            elif source.stands_in:
                report.notes.append(source.stand_in_note)
            here = counts(source.load()) if source.folder else {}
            for column, value in zip(self.columns, printed, strict=True):
                found = here.get(column)
                judged = "" if found is None or source.stands_in or source.is_toy else _judged(found, value)
                shown = NONE if found is None else f"{found:,}"
                report.rows.append([SETS[key].name, column, f"{value:,}", shown, judged])
        judged_rows = [row[-1] for row in report.rows if row[-1]]
        if judged_rows:
            report.judgement.append(f"{judged_rows.count('equal')} of {len(judged_rows)} printed sizes are equal here.")
        return report


def counts(data: Data) -> dict[str, int]:
    """Sizes by the names that the papers use; labels are seen and unseen in halves."""
    held = hold_out_labels(data.Y, 0.5)
    return {
        "features": data.X.shape[1],
        "labels": data.Y.shape[1],
        "training samples": data.X.shape[0],
        "test samples": data.X_test.shape[0],
        "seen labels": len(held.seen),
        "unseen labels": len(held.unseen),
    }


def _judged(here: int, printed: int) -> str:
    return "equal" if here == printed else f"{here - printed:+,}"
