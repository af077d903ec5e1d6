from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ludus.bench.engines import Done, SerialEngine
from ludus.bench.planning.budget import RunLimits
from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.progress import BarProgress, LineProgress, duration
from ludus.bench.running.runner import RunSettings, resume_run, run_suite
from ludus.bench.store import open_store
from ludus.bench.verifying.verification import verify_run
from ludus.errors import BenchError, Error, StoreError
from ludus.record import generate_key, own_key
from tests.bench import players

TEXT = """\
name: mine
seeds: 3
agents: [random]
budget: {episodes: 2}
environments:
  - id: CartPole-v1
    reference: {min: 20, max: 500, source: x}
  - id: tests.bench.players:tests-Line-v0
"""
SERIAL = RunSettings(engine="serial", backoff=0.0)


@pytest.fixture
def suite():
    return parse_suite(TEXT, "mine.yaml")


@pytest.fixture
def lines_suite():
    return parse_suite(
        TEXT.replace("  - id: CartPole-v1\n    reference: {min: 20, max: 500, source: x}\n", ""),
        "m",
    )


class Trouble(SerialEngine):
    """Fails as it is told, and counts what it did."""

    def __init__(self, faults=(), stop_after=None):
        super().__init__()
        self.faults, self.stop_after, self.done = list(faults), stop_after, []

    def wait(self, timeout=None):
        if self.stop_after is not None and len(self.done) >= self.stop_after:
            raise KeyboardInterrupt
        job = self._jobs[0]
        if self.faults and self.faults.pop(0):
            self._jobs.popleft()
            return Done(job, fault="lightning struck")
        self.done.append(job.unit.id)
        return super().wait(timeout)


class Silent(LineProgress):
    def __init__(self):
        super().__init__(None)
        self.lines = []

    def note(self, text):
        self.lines.append(text)


def comparable(results):
    left_out = ("seconds", "created", "head", "run")
    return [{k: v for k, v in r.to_dict().items() if k not in left_out} for r in results]


def test_a_run_from_the_first_unit_to_the_last(suite, tmp_path):
    progress = Silent()
    done = run_suite(suite, ["random", "constant:1", players.invalid],
                     out=tmp_path / "run", name="first",
                     settings=RunSettings(engine="serial", progress=progress))  # fmt: skip
    assert (done.planned, done.count("scored"), done.unfinished) == (18, 12, 0)
    assert (done.count("agent_fault"), done.exit_code) == (6, 1)
    assert BenchFolder.open(tmp_path / "run").results() == list(done.results)
    assert {result.run for result in done.results} == {"first"}
    lines = [result for result in done.results if result.env == "tests-Line-v0"]
    assert {result.score for result in lines} == {10.0, None}
    assert progress.lines[0] == "18 units"
    assert "about" in progress.lines[1]
    assert progress.lines[-1].startswith("[18/18] invalid on tests-Line-v0, seed 2: agent fault:")


def test_interrupted_work_is_kept_and_not_repeated(suite, tmp_path):
    whole = run_suite(suite, out=tmp_path / "whole", settings=SERIAL)
    engine = Trouble(stop_after=2)
    part = run_suite(suite, out=tmp_path / "part", settings=RunSettings(engine=engine))
    assert (part.interrupted, part.exit_code, len(part.results)) == (True, 130, 2)
    with pytest.raises(BenchError, match="ludus bench resume"):
        run_suite(suite, out=tmp_path / "part", settings=SERIAL)
    second = Trouble()
    rest = resume_run(tmp_path / "part", settings=RunSettings(engine=second))
    assert not set(engine.done) & set(second.done)
    assert len(second.done) == 4
    assert comparable(rest.results) == comparable(whole.results)
    third = Trouble()
    resume_run(tmp_path / "part", settings=RunSettings(engine=third))
    assert third.done == []


def test_a_result_that_was_written_before_an_interrupt_counts(suite, tmp_path, monkeypatch):
    written = BenchFolder.write

    def write(folder, result):
        written(folder, result)
        raise KeyboardInterrupt

    monkeypatch.setattr(BenchFolder, "write", write)
    part = run_suite(suite, out=tmp_path / "part", settings=SERIAL)
    assert part.interrupted
    assert BenchFolder.open(tmp_path / "part").results() == list(part.results)
    assert len(part.results) == 1


def test_faults_of_the_infrastructure_are_retried_and_never_a_zero(suite, tmp_path):
    progress = Silent()
    settings = RunSettings(engine=Trouble([True, *[False] * 5, True]), backoff=0.0, retries=1,
                        progress=progress)  # fmt: skip
    done = run_suite(suite, out=tmp_path / "run", settings=settings)
    assert (done.count("scored"), done.count("infrastructure_fault")) == (5, 1)
    assert done.exit_code == 3
    (fault,) = [r for r in done.results if r.outcome == "infrastructure_fault"]
    assert (fault.score, fault.reason, fault.extra) == (None, "lightning struck", {"attempts": 2})
    assert sum("trying again" in line for line in progress.lines) == 1
    again = resume_run(tmp_path / "run", settings=SERIAL)
    assert (again.count("scored"), again.exit_code) == (6, 0)


def test_an_environment_that_fails_twice_and_then_works(tmp_path):
    text = TEXT.partition("  - id: CartPole")[0].replace("seeds: 3", "seeds: 1")
    path = tmp_path / "count"
    row = f"  - id: tests.bench.players:tests-Line-v0\n    kwargs: {{broken_until: {path}}}\n"
    done = run_suite(parse_suite(text + row, "m"), out=tmp_path / "run", settings=SERIAL)
    assert done.results[0].score == 10.0
    assert path.read_text() == "xxx"


@pytest.mark.parametrize(
    ("limits", "words", "finished"),
    [
        (RunLimits(max_steps=40), "max_steps: 40 of 40 steps are used", 2),
        (RunLimits(max_cost=5), "max_cost: 10 of 5 cost are used", 1),
        (RunLimits(max_seconds=1e-9), "max_seconds", 0),
    ],
)
def test_limits_end_a_run_with_what_is_finished(lines_suite, tmp_path, limits, words, finished):
    agent = {"use": "tests.bench.players:Pusher", "name": "pusher", "options": {"price": 0.5}}
    settings = RunSettings(engine="serial", limits=limits)
    done = run_suite(lines_suite, [agent], out=tmp_path / "run", settings=settings)
    assert done.exit_code == 4
    assert words in done.exhausted
    assert len(done.results) == finished
    # Steps and money of before count; the clock starts again.
    again = resume_run(tmp_path / "run", settings=RunSettings(engine="serial", limits=limits))
    assert len(again.results) == finished
    assert again.exit_code == 4
    assert resume_run(tmp_path / "run", settings=SERIAL).exit_code == 0


def test_time_that_is_up_ends_what_is_under_way(lines_suite, tmp_path):
    settings = RunSettings(workers=1, limits=RunLimits(max_seconds=0.3))
    start = time.monotonic()
    done = run_suite(lines_suite, [players.hangs], out=tmp_path / "run", settings=settings)
    assert (done.exit_code, len(done.results)) == (4, 0)
    assert time.monotonic() - start < 60


def test_results_go_to_a_store(lines_suite, tmp_path):
    own_key()  # a store trusts the keys that there are when it is opened
    address = tmp_path / "store.sqlite"
    settings = RunSettings(engine=Trouble(stop_after=1), store=address)
    run_suite(lines_suite, out=tmp_path / "run", name="r", settings=settings)
    done = resume_run(tmp_path / "run", settings=RunSettings(engine="serial", store=address))
    with open_store(address) as store:
        assert sorted(store.results(run="r"), key=lambda r: r.seed) == list(done.results)
        found = list(verify_run(BenchFolder.open(tmp_path / "run"), store=store))
        assert [one.result.verified for one in found] == ["verified"] * 3
        assert [one.verified for one in store.results(run="r")] == ["verified"] * 3


def test_a_result_takes_the_place_of_a_fault_in_the_store(lines_suite, tmp_path):
    address = tmp_path / "store.sqlite"
    settings = RunSettings(engine=Trouble([True]), store=address, retries=0)
    first = run_suite(lines_suite, out=tmp_path / "run", settings=settings)
    assert first.exit_code == 3
    second = resume_run(tmp_path / "run", settings=RunSettings(engine="serial", store=address))
    assert second.exit_code == 0
    with open_store(address) as store:
        assert {result.outcome for result in store.results()} == {"scored"}


def test_a_store_that_fails_loses_nothing(lines_suite, tmp_path, monkeypatch):
    address = tmp_path / "store.sqlite"

    def fails(self, results):
        if list(results):
            raise StoreError("the database is gone")

    with monkeypatch.context() as patch:
        patch.setattr("ludus.bench.store.store.Store.add", fails)
        settings = RunSettings(engine="serial", store=address)
        done = run_suite(lines_suite, out=tmp_path / "run", settings=settings)
    assert (done.exit_code, done.store_problem) == (3, "the database is gone")
    assert done.count("scored") == 3
    resume_run(tmp_path / "run", settings=RunSettings(engine="serial", store=address))
    with open_store(address) as store:
        assert len(list(store.results())) == 3


def test_only_one_process_runs_a_folder(suite, tmp_path):
    run_suite(suite, out=tmp_path / "run", settings=RunSettings(engine=Trouble(stop_after=0)))
    with (
        BenchFolder.open(tmp_path / "run").locked(),
        pytest.raises(BenchError, match="Another process"),
    ):
        resume_run(tmp_path / "run", settings=SERIAL)


def test_changed_work_is_not_mixed(suite, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def act(observation): return 0\n")
    settings = RunSettings(engine=Trouble(stop_after=1))
    run_suite(suite, [f"mine={path}:act"], out=tmp_path / "run", settings=settings)
    path.write_text("def act(observation): return 1\n")
    with pytest.raises(BenchError, match="the code or the options of mine changed"):
        resume_run(tmp_path / "run", settings=SERIAL)
    run_suite(
        suite,
        [players.policy],
        out=tmp_path / "other",
        settings=RunSettings(engine=Trouble(stop_after=1)),
    )
    with pytest.raises(BenchError, match="pass it again"):
        resume_run(tmp_path / "other", settings=SERIAL)
    assert resume_run(tmp_path / "other", [players.policy], settings=SERIAL).unfinished == 0


def edit(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda run: (run / "bench.json").unlink(), "There is no run"),
        (lambda run: (run / "bench.json").write_text("{"), "does not describe"),
        (lambda run: (run / "bench.json").write_text("[]"), "does not describe"),
        (lambda run: next(run.glob("results/*.json")).write_text("{}"), "is damaged"),
        (lambda run: next(run.glob("results/*.json")).write_text("[" * 10**5), "is damaged"),
        (lambda run: edit(run / "bench.json", '"units": [', '"units": ["../../x",'), "units.0"),
    ],
)
def test_damaged_folders(lines_suite, tmp_path, damage, words):
    run_suite(lines_suite, out=tmp_path / "run", settings=SERIAL)
    damage(tmp_path / "run")
    with pytest.raises(BenchError, match=words):
        resume_run(tmp_path / "run", settings=SERIAL)


def forge(**changes):
    def damage(run):
        path = next(run.glob("results/*.json"))
        data = json.loads(path.read_text())
        path.write_text(json.dumps({**data, **changes}))

    return damage


def swap(run):
    """Let two results have each other's records."""
    first, second = sorted((run / "records").iterdir())[:2]
    first.rename(run / "tmp")
    second.rename(first)
    (run / "tmp").rename(second)


def flip(run):
    path = next(run.glob("records/*/blocks.bin"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (forge(score=11.0, best_score=11.0), "score: the result says 11.0, the record 10.0"),
        (forge(extra={"returns": [10.0, 11.0]}), "extra: the result says"),
        (forge(seed=77), "seed: the result says 77"),
        (forge(agent="genius"), "agent: the result says 'genius'"),
        (forge(env="CartPole-v1"), "env: the result says 'CartPole-v1'"),
        (forge(budget='{"episodes":1}'), "budget"),
        (forge(head="0" * 64), "it is another one"),
        (forge(record="records/other"), "not its own"),
        (forge(suite_digest="0" * 64), "suite_digest"),
        (swap, "it is another one"),
        (flip, "blocks"),
        (lambda run: next(run.glob("records/*/events.jsonl")).unlink(), ""),
    ],
)
def test_forged_results_fail_verification(lines_suite, tmp_path, damage, words):
    run = tmp_path / "run"
    run_suite(lines_suite, out=run, settings=SERIAL)
    damage(run)
    found = list(verify_run(BenchFolder.open(run)))
    failed = [one for one in found if one.result.verified == "failed"]
    assert len(failed) == (2 if damage is swap else 1)
    assert words in " ".join(failed[0].problems)


def test_verification_of_all_there_is(suite, tmp_path):
    run = tmp_path / "run"
    agents = ["random", "pair=batch:2:random", players.invalid]
    done = run_suite(suite.changed(seeds=1), agents, out=run, settings=SERIAL)
    assert done.count("agent_fault") == 2
    found = list(verify_run(BenchFolder.open(run)))
    assert [(one.result.verified, one.problems) for one in found] == [("verified", ())] * 6
    quick = list(verify_run(BenchFolder.open(run), replay=False))
    assert {one.result.verified for one in quick} == {"claimed"}
    assert quick[0].unchecked


def test_signed_records_and_killed_agents_are_verified(lines_suite, tmp_path):
    key = generate_key(tmp_path / "key")
    other = generate_key(tmp_path / "other")
    settings = RunSettings(workers=1, key=tmp_path / "key")
    suite = lines_suite.changed(seeds=1, max_seconds=0.3)
    done = run_suite(suite, ["random", players.hangs], out=tmp_path / "run", settings=settings)
    assert [result.outcome for result in done.results] == ["scored", "agent_fault"]
    folder = BenchFolder.open(tmp_path / "run")
    for trusted, mark in ((key, "verified"), (other, "failed")):
        found = list(verify_run(folder, trusted_keys=[trusted.public]))
        assert [one.result.verified for one in found] == [mark] * 2, found


KILLED = """\
import sys
from ludus.bench.running.runner import RunSettings, resume_run, run_suite
from ludus.bench.planning.suite import parse_suite
from pathlib import Path
text, out, engine = sys.argv[1:]
settings = RunSettings(engine=engine, workers=1)
print("ready", flush=True)
if Path(out, "bench.json").exists():
    resume_run(out, settings=settings)
else:
    agents = ["tests.bench.players:Slow", "random"]
    run_suite(parse_suite(text, "t"), agents, out=out, settings=settings)
"""


def start_and_kill(arguments, results, more, seconds):
    """Start the program, kill it that long after that many results; tell whether it was in time."""
    wanted = len(list(results.glob("*.json"))) + more
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    child.stdout.readline()
    while child.poll() is None and len(list(results.glob("*.json"))) < wanted:
        time.sleep(0.005)
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    return child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_killed_at_any_moment_a_run_ends_the_same(suite, tmp_path, engine):
    agents = ["tests.bench.players:Slow", "random"]
    whole = run_suite(suite, agents, out=tmp_path / "whole", settings=SERIAL)
    out, draws, kills = tmp_path / "run", random.Random(5), 0
    seen: dict[str, bytes] = {}
    for more in range(3):
        moment = out / "results", more, draws.uniform(0.0, 0.1)
        was_killed = start_and_kill([TEXT, str(out), engine], *moment)
        for path in out.glob("results/*.json"):
            # What was finished is neither lost nor done again.
            assert seen.setdefault(path.name, path.read_bytes()) == path.read_bytes()
        assert all((out / "results" / name).exists() for name in seen)
        kills += was_killed
    assert kills
    rest = resume_run(out, settings=SERIAL)
    assert rest.exit_code == 0
    assert comparable(rest.results) == comparable(whole.results)
    found = list(verify_run(BenchFolder.open(out)))
    assert {one.result.verified for one in found} == {"verified"}


def test_progress_on_a_terminal(lines_suite, tmp_path):
    from rich.console import Console

    console = Console(force_terminal=True, width=100, file=io.StringIO())
    settings = RunSettings(engine="serial", progress=BarProgress(console))
    run_suite(lines_suite, [players.invalid], out=tmp_path / "run", settings=settings)
    text = console.file.getvalue()
    assert "3/3" in text
    assert "invalid action" in text
    assert [duration(s) for s in (3, 300, 7200)] == ["3 s", "5 min", "2.0 h"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "bogus"}, "There is no engine 'bogus'"),
        ({"store": "mysql://x"}, "cannot be on 'mysql'"),
        ({"key": "nowhere"}, "There is no key at nowhere"),
    ],
)
def test_settings_that_nothing_can_be_done_with_leave_no_folder(tmp_path, settings, words):
    with pytest.raises(Error, match=words):
        run_suite("classic", ["random"], out=tmp_path / "run", settings=RunSettings(**settings))
    assert not (tmp_path / "run").exists()
