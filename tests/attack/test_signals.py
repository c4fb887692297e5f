"""Ctrl-C at random moments of all long commands: one line, exit code 130, nothing damaged, and the work goes on."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import tacit
from tacit.cli.interrupt import PATIENCE
from tacit.data.synthetic import make_dataset

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")

_PROGRESS = ("compiling kernels", "resuming:")
_LINE = "tacit: interrupted; "
_SAVED = ("is saved", "and saved")  # the command is done, and must not be given again


class Command(NamedTuple):
    """A long command, and whether it always gives the same; a search within a time does not."""

    words: tuple[str, ...]
    is_exact: bool = True


COMMANDS = {
    "train": Command(("train", "train.jsonl", "--model", "FastXML", "--param", "n_trees=24", "--out", "model")),
    "tune": Command(("tune", "train.jsonl", "--model", "OneVsAll", "--budget", "1s", "--valid", "0.2"), False),
    "suggest": Command(("suggest", "old", "new.jsonl", "--out", "out.jsonl")),
    "suggest-csv": Command(("suggest", "old", "new.jsonl", "-k", "3", "--out", "out.csv")),
    "evaluate": Command(("evaluate", "old", "new.jsonl", "--json", "--report", "report.html")),
    "find-missing": Command(("find-missing", "old", "train.jsonl", "--out", "missing.csv")),
    "update": Command(("update", "old", "more.jsonl")),
}


class Ended(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float  # of processor time, which other work on the machine does not change


def start(folder: Path, words: tuple[str, ...]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tacit", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> Ended:
    before = os.times()
    out, err = process.communicate(timeout=300)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return Ended(process.returncode, out, err, seconds)


def run(folder: Path, words: tuple[str, ...]) -> Ended:
    return finish(start(folder, words))


def used_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(folder: Path, words: tuple[str, ...], seconds: float, times: int = 1) -> Ended:
    """A command that gets Ctrl-C when it has used so much time; before tacit has begun it is Python that answers."""
    process = start(folder, words)
    seconds = max(seconds, 0.15)
    while process.poll() is None and used_seconds(process.pid) < seconds:
        time.sleep(0.001)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    return finish(process)


def contents(folder: Path) -> dict[str, str]:
    """All files with their contents; a report and a list of times have the moment in them."""
    return {
        str(file.relative_to(folder)): "" if file.suffix == ".html" else hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.endswith(".lock")
    }


class Bench:
    """Data, a model, and what each command does with them when nobody interrupts it."""

    def __init__(self, folder: Path, n_train: int, n_new: int) -> None:
        self.start = folder / "start"
        self.start.mkdir()
        made = make_dataset(n_samples=n_train, n_features=400, n_labels=60, as_text=True)
        train = made.dataset(made.train)
        tacit.save_data(train, self.start / "train.jsonl")
        tacit.save_data(made.dataset(made.test), self.start / "more.jsonl")
        lines = (self.start / "train.jsonl").read_text().splitlines(keepends=True)
        (self.start / "new.jsonl").write_text("".join(lines[i % len(lines)] for i in range(n_new)))
        tagger = tacit.Tagger(model="OneVsAll", keep_texts=True)
        tagger.fit(train.texts, train.Y, label_names=train.label_names).save(self.start / "old")
        self._folder = folder
        self._n = 0
        self.expected: dict[str, tuple[Ended, dict[str, str]]] = {}

    def case(self) -> Path:
        self._n += 1
        return Path(shutil.copytree(self.start, self._folder / f"case{self._n}"))

    def whole(self, name: str) -> tuple[Ended, dict[str, str]]:
        """What a command gives, and the files that there are after it."""
        if name not in self.expected:
            case = self.case()
            ended = run(case, COMMANDS[name].words)
            assert ended.code == 0, ended.err
            self.expected[name] = ended, contents(case)
            shutil.rmtree(case)
        return self.expected[name]


def check(bench: Bench, name: str, share: float, times: int = 1) -> str:
    """Interrupt a command after a share of its time and give it again; gives how it ended."""
    command = COMMANDS[name]
    ended, files = bench.whole(name)
    case = bench.case()
    before = contents(case)
    cut = interrupted(case, command.words, share * ended.seconds, times)
    assert cut.code in (0, 130), f"exit code {cut.code}: {cut.err}"
    usual = {"", *(line.strip() for line in ended.err.splitlines())}
    said = [line for line in cut.err.splitlines() if line.strip() not in usual and not line.startswith(_PROGRESS)]
    if cut.code == 130:
        assert len(said) == 1, cut.err
        assert said[0].startswith(_LINE), cut.err
        missing = [file for file in before if file not in contents(case)]
        assert missing == []
    else:
        assert "Traceback" not in cut.err
    if cut.code == 130 and not any(mark in cut.err for mark in _SAVED):
        if not command.is_exact:  # and writes nothing, so that another run would be like the first
            assert contents(case) == before
        else:
            again = run(case, command.words)
            assert again.code == 0, again.err
            if " kept in " in cut.err:
                assert "resuming:" in again.err or "resuming after" in again.err, (cut.err, again.err)
            assert again.out == ended.out
    assert contents(case) == files
    shutil.rmtree(case)
    return said[0].removeprefix(_LINE) if cut.code == 130 else "finished"


def attack(bench: Bench, names: list[str], seed: int) -> dict[str, int]:
    """One interruption for each name; gives how often each thing was said."""
    rng = random.Random(seed)
    outcomes: dict[str, int] = {}
    for number, name in enumerate(names):
        share, times = rng.uniform(0, 1.02), rng.choice([1, 1, 2])
        try:
            outcome = check(bench, name, share, times)
        except BaseException:
            print(f"seed {seed}, try {number}: tacit {name}, after {share:.4f} of its time, {times} × Ctrl-C")
            raise
        print(f"{number}: tacit {name}, {share:.3f}, {times} × Ctrl-C: {outcome}", flush=True)
        key = f"{name}: {''.join(character for character in outcome if not character.isdigit())}"
        outcomes[key] = outcomes.get(key, 0) + 1
    return outcomes


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("signals"), n_train=600, n_new=6_000)


def test_ctrl_c_at_a_few_moments(bench):
    seed = random.SystemRandom().randrange(10**6)
    attack(bench, ["train", "suggest"], seed)


@pytest.mark.skipif(not os.environ.get("TACIT_ATTACK"), reason="a long run: make attack")
def test_ctrl_c_at_many_moments(bench):
    """`TACIT_TRIES` interruptions (200) of all long commands in turn, from the seed `TACIT_SEED`."""
    for name in COMMANDS:
        bench.whole(name)
    bench.expected.clear()  # now that all kernels are compiled, the times will be the usual ones
    seed = int(os.environ.get("TACIT_SEED") or random.SystemRandom().randrange(10**6))
    n_tries = int(os.environ.get("TACIT_TRIES") or 200)
    outcomes = attack(bench, [list(COMMANDS)[i % len(COMMANDS)] for i in range(n_tries)], seed)
    print(json.dumps(outcomes, indent=1))
    assert sum(outcomes.values()) == n_tries


def test_ctrl_c_where_no_step_ends(tmp_path):
    """Here tacit waits for standard input. It ends by itself after a while, and at once at a second Ctrl-C."""
    words = [sys.executable, "-m", "tacit", "suggest", str(Path(__file__).parents[1] / "models" / "Tagger"), "-"]
    seconds = []
    for times in (1, 2):
        process = subprocess.Popen(
            words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(3)
        started = time.perf_counter()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert process.wait(60) == 130
        seconds.append(time.perf_counter() - started)
        assert process.stderr.read() == f"{_LINE}only the printed output is kept; run the same command to start again\n"
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
    assert seconds[0] >= PATIENCE > seconds[1]


def test_a_second_ctrl_c_leaves_no_draft(tmp_path):
    """The process ends while it writes a file that has not taken its name yet."""
    out = tmp_path / "out"
    out.mkdir()
    lines = (f'{{"text": "pear number {number}", "labels": ["fruit"]}}\n' for number in range(50_000))
    (tmp_path / "many.jsonl").write_text("".join(lines))
    process = start(tmp_path, ("convert", "many.jsonl", "out/a.csv"))
    while process.poll() is None and not any(file.suffix == ".tmp" for file in out.iterdir()):
        time.sleep(0.001)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    ended = finish(process)
    assert (ended.code, ended.err.count("\n")) == (130, 1), ended.err
    assert [file.name for file in out.iterdir() if file.suffix == ".tmp"] == []


@pytest.mark.parametrize("state", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_process_in_the_background_is_not_interrupted(tmp_path, state):
    """Shells have what runs in the background ignore Ctrl-C; tacit leaves that so."""
    code = (
        f"import signal, sys; signal.signal(signal.SIGINT, signal.{state.name}); sys.argv = ['tacit', 'models']\n"
        "from tacit.cli.main import main\n"
        f"main(); assert signal.getsignal(signal.SIGINT) is signal.{state.name}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True)
