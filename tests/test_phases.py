from __future__ import annotations

from tacit.phases import phase, recorded, step


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


def test_steps_of_a_phase_are_noted_with_it():
    with step("outside"):
        pass
    with recorded() as laps:
        with phase("fit", 3):
            for _ in range(2):
                with step("trees"), step("inside"):
                    sum(range(10_000))
            with step("leaves"):
                pass
        with phase("fit", 2):
            pass
    assert [[name for name, _ in lap.steps] for lap in laps] == [["trees", "leaves"], []]
    assert 0 < dict(laps[0].steps)["trees"] <= laps[0].cpu_seconds
