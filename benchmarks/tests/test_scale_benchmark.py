from __future__ import annotations

import pytest

from benchmarks import scale
from tacit.data.load import load_data


@pytest.fixture
def calls(monkeypatch):
    """Trainings that are not run: what they take grows in proportion to the bytes of the data."""
    made = []

    def pretend(data, out, *arguments):
        made.append(arguments)
        size = data.stat().st_size
        return scale.Run(1.0, 1e-5 * size, 100 * size, 100 * size, 10 * size)

    monkeypatch.setattr(scale, "train", pretend)
    return made


def test_sizes_are_predicted_before_they_are_run_and_results_are_kept(calls, tmp_path, capsys):
    labels = [50, 100, 200, 400]
    scale.grow(labels, tmp_path, "1G")
    assert calls == [(*scale.TRAIN, "--max-memory", "1G")] * len(labels)
    lines = capsys.readouterr().out.splitlines()
    predicted = next(place for place, line in enumerate(lines) if "× 800" in line and line.endswith(" predicted"))
    expected, found = (
        float(part.split()[0].replace(",", "")) for part in lines[predicted + 1].split(": ")[1].split(" / ")[:2]
    )
    assert expected == pytest.approx(found, rel=0.3)
    assert any(line.startswith("Amazon-3M: ") for line in lines)
    scale.grow(labels, tmp_path, None)
    assert len(calls) == len(labels)
    repeated = capsys.readouterr().out.splitlines()
    assert repeated == [line for line in lines if not line.endswith(" predicted")]


def test_texts_are_written_with_their_labels(tmp_path):
    scale.write_texts(tmp_path / "texts.jsonl.gz", 30)
    found = load_data(tmp_path / "texts.jsonl.gz")
    assert len(found.texts) == 30
    assert min(len(text.split()) for text in found.texts) > 50
    assert found.Y.nnz > 30
    assert found.label_names[0].startswith("label ")


def test_what_a_training_takes_is_measured(tmp_path):
    scale.write_synthetic(tmp_path / "data.txt", 60, 50, 10, **scale.OPTIONS)
    took = scale.train(tmp_path / "data.txt", tmp_path / "model", "--model", "Popularity", "--no-calibrate")
    assert took.cpu_seconds > 0.1
    assert took.memory_bytes > 10 << 20
    assert took.model_bytes == sum(file.stat().st_size for file in (tmp_path / "model").iterdir())
    with pytest.raises(SystemExit, match="ended with exit code 2"):
        scale.train(tmp_path / "absent", tmp_path / "model")
