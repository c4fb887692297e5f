from __future__ import annotations

from tacit.phases import phase, recorded


def test_only_the_outermost_phases_are_noted_and_only_where_someone_asks():
    with phase("fit", 3):
        pass
    with recorded() as laps:
        with phase("fit", 3), phase("fit", 2):
            pass
        with phase("calibrate", 1):
            pass
    assert [(lap.phase, lap.n_samples) for lap in laps] == [("fit", 3), ("calibrate", 1)]
    assert all(lap.seconds >= 0 and lap.cpu_seconds >= 0 for lap in laps)
