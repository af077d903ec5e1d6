"""Records of episodes are checked by grading again; forged ones are found."""

from __future__ import annotations

import json
import math
import shutil

import pytest

from ludus.bench import RunSettings
from ludus.bench.running.folder import BenchFolder
from ludus.errors import ResearchError
from ludus.record import Run, generate_key, load_public_key, read_run
from ludus.research.data.data_cache import CachedTask
from ludus.research.grading.artefacts import Artefacts
from ludus.research.running import regrading
from ludus.research.running.options import FILE, RunFile
from ludus.research.running.verification import is_episode, verify_episode, verify_research_run
from ludus.research.task.outcome import Outcome
from tests.research.running.support import (
    GOOD,
    GUESS,
    UNLIMITED,
    record_of,
    start,
    task_files,
    write_script,
)

ACTIONS = [f"cat > guess.py <<'END'\n{GOOD}END\nvalidate", "submit"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """An honest run; where its score lies so low that fresh draws cannot tell, another."""
    for _ in range(4):
        folder = tmp_path_factory.mktemp("verified")
        script = write_script(folder / "s.yaml", ACTIONS)
        how = {"agent_options": {"file": script}, "draws": "private"}
        done = start(GUESS, "scripted", folder / "run", **how)
        assert done.exit_code == 0
        if check(record_of(folder / "run"))[0]["draws"] == "passed":
            break
    return folder / "run"


def check(path, **options):
    found = verify_episode(path, task=GUESS, unlimited=UNLIMITED, **options)
    return {one.name: one.status for one in found.checks}, found


def test_an_honest_record_passes(run):
    assert is_episode(record_of(run))
    assert not is_episode(run)
    told = []
    status, found = check(record_of(run), progress=lambda done, total: told.append((done, total)))
    assert found.passed, found.to_dict()
    assert status["replay"] == status["results"] == status["spec"] == status["draws"] == "passed"
    assert told[-1] == (2, 2)
    assert check(record_of(run), regrade=False)[1].verdict == "passed"
    assert check(record_of(run), require_signature=True)[1].failed


def rewritten(source, target, change):
    """Write the record anew, chain and all, with other words: the best that a forger can do."""
    reader = read_run(source)
    own = {"format", "version", "id", "created", "kind", "subject"}
    fields = {key: value for key, value in reader.manifest.items() if key not in own}
    subject = json.loads(json.dumps(reader.manifest["subject"]))
    change("subject", subject)
    with Run.create(target, kind="research", subject=subject, **fields) as run:
        for event in reader.events:
            if event.kind in ("open", "close"):
                continue
            if event.kind == "file":
                name = event.data["path"]
                run.add_file(name, (source / name).read_bytes())
                continue
            data = json.loads(json.dumps(event.data))
            change(event.kind, data)
            run.append(event.kind, data)
    return target


def forge_score(kind, data, rewards=[]):  # noqa: B006 - remembers the steps of the only call
    """A better score, with everything that follows from it."""
    if kind == "tested":
        data["score"] = 2.0
    if kind == "step":
        if data["final"]:
            data["final"]["score"] = 2.0
            data["reward"] = (2.0 - 17) / (6 - 17) - sum(rewards)
        rewards.append(data["reward"])
    if kind == "result":
        data["value"] = data["best"] = 2.0
        data["normalised"] = (2.0 - 17) / (6 - 17)
        data["rewards"] = math.fsum(rewards)


def forge_result(kind, data):
    if kind == "result":
        data["value"] = 2.0


def forge_reward(kind, data):
    if kind == "step" and data["n"] == 0:
        data["reward"] += 0.5


def forge_validation(kind, data):
    if kind == "step" and data["n"] == 0:
        data["graded"]["score"] = data["validation"] = 3.0
        data["reward"] = (3.0 - 17) / (6 - 17)
    if kind == "step" and data["final"]:
        data["reward"] = data["final"]["score"] / -11 + 3.0 / 11
    if kind == "result":
        data["best"] = 3.0


def forge_no_files(kind, data):
    if kind == "step" and data["final"]:
        data["final"]["files"] = {}


def forge_foreign_file(kind, data):
    if kind == "step" and data["final"]:
        data["final"]["files"] = {"../../guess.py": "0" * 64}


def forge_seed(kind, data):
    if kind == "subject":
        data["seed"] = 7


def forge_scale(kind, data):
    if kind == "subject":
        data["evaluation"]["threshold"] = 16.0


def forge_task(kind, data):
    if kind == "subject":
        data["task_digest"] = "0" * 64


def forge_order(kind, data):
    if kind == "step" and data["n"] == 0:
        data["n"] = 1


def forge_action(kind, data):
    if kind == "step" and data["n"] == 0:
        data["action"] = "ls"


def forge_steps(kind, data):
    if kind == "result":
        data["steps"] = 1


def forge_path(kind, data):
    if kind == "subject":
        data["task"] = "../guess_number"


def forge_forms(kind, data):
    if kind == "subject":
        data["unit"]["kwargs"] = [1]


def forge_graded(kind, data):
    if kind == "step" and data["final"]:
        data["final"]["files"] = ["guess.py"]


def forge_tested(kind, data):
    if kind == "tested":
        data["score"] = 2.0


FORGERIES = {
    forge_forms: "spec",
    forge_graded: "replay",
    forge_path: "spec",
    forge_score: "replay",
    forge_result: "results",
    forge_reward: "results",
    forge_validation: "replay",
    forge_no_files: "replay",
    forge_foreign_file: "replay",
    forge_seed: "spec",
    forge_scale: "spec",
    forge_task: "spec",
    forge_order: "results",
    forge_action: "results",
    forge_steps: "results",
    forge_tested: "results",
}


@pytest.mark.parametrize("change", FORGERIES)
def test_a_forged_record_fails(run, tmp_path, change):
    path = rewritten(record_of(run), tmp_path / "forged", change)
    status, found = check(path, regrade=FORGERIES[change] == "replay")
    assert found.verdict == "failed"
    assert status[FORGERIES[change]] == "failed", found.to_dict()
    if change is forge_score:
        # Nothing but grading it again tells.
        assert [name for name, one in status.items() if one == "failed"] == ["replay"]


def test_without_changes_a_rewritten_record_passes(run, tmp_path):
    path = rewritten(record_of(run), tmp_path / "copied", lambda kind, data: None)
    assert check(path, regrade=False)[1].passed


def test_other_files_are_found(run, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(record_of(run), path)
    file = next((path / "artefacts").iterdir())
    file.write_text("def guess(low, high, answers):\n    return 3\n")
    status, found = check(path)
    assert (status["files"], found.verdict) == ("failed", "failed")
    file.unlink()
    assert check(path)[0]["files"] == "failed"


KNOWN_GOOD = Artefacts({"guess.py": b"# known to be good"})
WHOSE_FAULT = {
    "only this one": ("SandboxError: it lingers", False, "failed"),
    "every one": ("SandboxError: it lingers", True, "skipped"),
    "a full disk": ("OSError: [Errno 28] No space left on device", False, "skipped"),
    "no memory": ("MemoryError: ", False, "skipped"),
}


@pytest.mark.parametrize("what", WHOSE_FAULT)
def test_files_that_bring_a_fault_about_are_no_excuse(run, monkeypatch, what):
    """Who forges a record chooses its files: with some, grading could fail on every machine."""
    reason, is_general, expected = WHOSE_FAULT[what]

    def failing(policy, backend):
        def grade(task, artefacts, split, seed, *, draw):
            is_good = artefacts["guess.py"] == KNOWN_GOOD["guess.py"]
            return (
                Outcome("scored", 9.0)
                if is_good and not is_general
                else Outcome("infrastructure_fault", reason=reason)
            )

        return grade

    monkeypatch.setattr(regrading, "graded_in_sandboxes", failing)
    monkeypatch.setattr(CachedTask, "known_good", lambda self, seed: KNOWN_GOOD)
    assert check(record_of(run))[0]["replay"] == expected


def test_a_task_that_is_not_here(run):
    found = verify_episode(record_of(run))
    assert found["spec"].status == "skipped"
    assert found.verdict == "unchecked"


def test_a_signature(run, tmp_path):
    key = generate_key(tmp_path / "key")
    script = write_script(tmp_path / "s.yaml", ["submit"])
    settings = RunSettings(engine="serial", key=tmp_path / "key")
    start(GUESS, "scripted", tmp_path / "run", agent_options={"file": script}, settings=settings)
    public = load_public_key(tmp_path / "key.pub")
    assert public.fingerprint == key.public.fingerprint
    status, _ = check(record_of(tmp_path / "run"), trusted_keys=[public], regrade=False)
    assert status["signature"] == "passed"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("score", 2.0),
        ("best_score", 2.0),
        ("steps", 1),
        ("seed", 3),
        ("agent", "better"),
        ("head", "0" * 64),
        ("suite_digest", "0" * 64),
        ("cost", 7.0),
        ("seconds", 0.5),
        ("created", "2020-01-01T00:00:00Z"),
        ("source_hash", "0" * 64),
        ("run", "another"),
        ("extra", {"normalised": 9.0}),
    ],
)
def test_a_result_that_its_record_contradicts(run, tmp_path, field, value):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    (file,) = (folder / "results").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), field: value}))
    (found,) = verify_research_run(
        BenchFolder.open(folder), tasks=task_files(folder), regrade=False
    )
    assert found.result.verified == "failed"
    assert any(field.split("_")[0] in problem or field == "head" for problem in found.problems)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_steps": 7}, "it was played with max_steps=7"),
        ({"time_limit": 1e6}, "it was played with time_limit=1000000.0"),
        ({"cost_limit": 5.0}, "it was played with cost_limit=5.0"),
        ({"backend": "docker"}, "options is"),
    ],
)
def test_other_limits_than_the_suites(run, tmp_path, change, words):
    """The run's own file says how episodes were played; suite and record say otherwise."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    file = folder / "research.json"
    data = json.loads(file.read_text())
    data["options"] |= change
    file.write_text(json.dumps(data))
    (found,) = verify_research_run(
        BenchFolder.open(folder), tasks=task_files(folder), regrade=False
    )
    assert found.result.verified == "failed"
    assert words in " ".join(found.problems)


def test_more_steps_than_the_suite_allows(run, tmp_path):
    """A record of a longer episode, rewritten to be about the suite's unit."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    target = record_of(folder)

    def longer(kind, data):
        if kind == "subject":
            data["options"]["max_steps"] = 1000

    shutil.rmtree(target)
    rewritten(record_of(run), target, longer)
    (file,) = (folder / "results").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "head": read_run(target).head}))
    (found,) = verify_research_run(
        BenchFolder.open(folder), tasks=task_files(folder), regrade=False
    )
    assert "another episode than the suite's: options" in " ".join(found.problems)


def test_a_run_does_not_name_the_code_that_checks_it(run, tmp_path):
    """A task brings a program that makes its data, and one that grades."""
    folder, mine = tmp_path / "run", tmp_path / "run" / "task"
    shutil.copytree(run, folder)
    shutil.copytree(GUESS, mine)
    for program in mine.rglob("*.py"):
        program.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + program.read_text())
    file = folder / "research.json"
    for path in (str(mine), "task", "./task", str(mine / "task.yaml")):
        data = json.loads(file.read_text())
        for row in data["tasks"].values():
            row["task"] = path
        file.write_text(json.dumps(data))
        (found,) = verify_research_run(BenchFolder.open(folder), unlimited=UNLIMITED)
        assert found.result.verified in ("claimed", "failed")
    assert not (tmp_path / "ran").exists()


def test_results_are_marked(run):
    (found,) = verify_research_run(BenchFolder.open(run), tasks=task_files(run), regrade=False)
    assert (found.result.verified, found.problems) == ("claimed", ())
    (found,) = verify_research_run(
        BenchFolder.open(run), tasks=task_files(run), unlimited=UNLIMITED
    )
    # Where nothing can be limited, agents have more than others, and nothing is ranked.
    mark = "claimed" if UNLIMITED else "verified"
    assert found.result.verified == mark, found
    assert BenchFolder.open(run).results()[0].verified == mark


def test_a_key_twice_in_the_file_of_a_run(tmp_path):
    """Other readers of JSON take the first of the two."""
    (tmp_path / FILE).write_text('{"tasks": {}, "tasks": {}}')
    with pytest.raises(ResearchError, match="the key 'tasks' occurs twice"):
        RunFile.read(tmp_path)
