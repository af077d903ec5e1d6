"""GPUs of a task: the agent's sandbox and, if it says so, the submission's; never the grader's."""

from __future__ import annotations

import shutil

import pytest

from ludus.errors import PolicyNotEnforceable
from ludus.research import ResearchEnv, load_task
from ludus.research.data.availability import find_missing
from ludus.research.episode.equipment import wanted_gpus
from ludus.research.running.verification import verify_episode
from ludus.sandbox.backend.gpus import cdi_gpus, device_nodes
from tests.research.env_support import write_task
from tests.research.support import SAMPLES
from tests.sandbox.fake_gpus import KIND, run_with_gpus, why_no_fake, write_cdi
from tests.sandbox.support import needs, why_not

pytestmark = needs("bubblewrap", root=True)

OPENS = """
def opens():
    try:
        open("/dev/ludusgpu0", "r+b", buffering=0).close()
    except OSError:
        return False
    return True
"""
CODE = f"{OPENS}\ndef guess(low, high, answers):\n    return int(opens())\n"
GRADER = f"""{OPENS}
from ludus.research.grading import Score

def grade(submission, labels, seed, split):
    found = submission.code("guess.py").call("guess", 0, 31, [], returns=int)
    return Score(float(found), {{"grader": opens()}})
"""
PROGRAM = """
import json, sys
from ludus.record import read_run
from ludus.research import EpisodeOptions, parse_agent, run_research
from ludus.research.running.verification import verify_episode
from tests.research.running.support import record_of, write_script
from pathlib import Path

folder, out = map(Path, sys.argv[1:3])
script = write_script(out / "script.yaml", ["python3 -c 'import guess; print(guess.opens())'",
                                            "validate", "submit"])
told = {}
for name, gpus in (("with", None), ("without", 0)):
    options = EpisodeOptions(gpus=gpus, backend="podman", draws="private")
    agent = parse_agent("scripted", {"file": script})
    done = run_research([folder], [agent], out=out / name, runs=1, options=options)
    record = record_of(out / name)
    reader = read_run(record)
    steps = [event.data for event in reader.events if event.kind in ("step", "end")]
    told[name] = {
        "code": done.exit_code,
        "gpus": reader.manifest["subject"].get("gpus"),
        "submission_gpus": reader.manifest["subject"].get("submission_gpus"),
        "agent": steps[0]["output"],
        "final": steps[-1]["final"],
        "checks": {one.name: one.status for one in verify_episode(record, task=folder).checks},
    }
print(json.dumps(told))
"""


def guessing(folder, gpu, submission_gpu):
    shutil.copytree(SAMPLES / "guess_number", folder)
    (folder / "grader" / "grade.py").write_text(GRADER)
    (folder / "workspace" / "guess.py").write_text(CODE)
    text = (folder / "task.yaml").read_text()
    text = text.replace("direction: lower, threshold: 6, baseline: 17, floor: 32", "threshold: 1")
    text = text.replace("gpu: 0", f"gpu: {gpu}, submission_gpu: {submission_gpu}")
    (folder / "task.yaml").write_text(text)
    return folder


@pytest.mark.skipif(bool(why_no_fake()), reason=str(why_no_fake()))
@pytest.mark.parametrize("submission_gpu", [0, 1])
def test_who_gets_it_and_what_the_record_says(tmp_path, monkeypatch, submission_gpu):
    if reason := why_not("podman"):
        pytest.skip(f"podman: {reason}")
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    folder = guessing(tmp_path / "guess", 1, submission_gpu)
    write_cdi(tmp_path / "cdi", 1)
    told = run_with_gpus(tmp_path / "cdi", PROGRAM, str(folder), str(tmp_path))
    had = told["with"]
    assert had["code"] == 0, had
    assert had["gpus"] == [{"device": f"{KIND}=0"}]
    assert had["submission_gpus"] == (submission_gpu or None)
    assert had["agent"] == "True\n"
    assert had["final"]["score"] == float(submission_gpu)
    assert had["final"]["details"] == {"grader": False}
    assert had["checks"]["replay"] == had["checks"]["spec"] == "passed"
    # --gpus 0 does without in both.
    none = told["without"]
    assert (none["code"], none["gpus"], none["agent"]) == (0, None, "False\n")
    assert none["final"]["score"] == 0.0
    if device_nodes() or cdi_gpus():
        return
    # Where there is no GPU: what submitted code needs cannot be graded again, the rest can.
    (record,) = (tmp_path / "with" / "records").iterdir()
    found = verify_episode(record, task=folder, backend="podman")
    status = {one.name: one.status for one in found.checks}
    assert status["replay"] == ("skipped" if submission_gpu else "passed")
    assert status["spec"] == "passed"


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (None, "this machine has none: no device file"),
        ("bubblewrap", "bubblewrap backend passes none through.*--backend podman"),
        ("podman", "this machine has none"),
        ("docker", "this machine has none"),
    ],
)
@pytest.mark.parametrize("gpus", [(2, 0), (0, 2)])
def test_a_machine_without_one(tmp_path, backend, words, gpus):
    """Said with what was found and required, and how to do without."""
    if backend is not None and (reason := why_not(backend)):
        pytest.skip(f"{backend}: {reason}")
    if device_nodes() or cdi_gpus():
        pytest.skip("this machine has a GPU")
    folder = guessing(tmp_path / "guess", *gpus)
    for word in (words, "asks for 2 GPU", r"--gpus 0.*MLGYM_GPUS=0.*gpus=0"):
        with pytest.raises(PolicyNotEnforceable, match=f"(?s){word}") as caught:
            ResearchEnv(folder, backend=backend)
        assert caught.value.reasons.keys() == {"gpu"}
    (lacks,) = find_missing([load_task(folder)])
    assert [one.what for one in lacks] == ["2 GPU"]


def test_doing_without(tmp_path, monkeypatch):
    task = load_task(guessing(tmp_path / "guess", 1, 2))
    assert wanted_gpus(task, None) == (1, 2)
    assert wanted_gpus(task, 3) == (3, 2)
    assert wanted_gpus(task, 0) == (0, 0)
    monkeypatch.setenv("MLGYM_GPUS", "0")
    assert find_missing([task]) == [()]
    with ResearchEnv(task, backend="bubblewrap") as env:
        assert (env.equipment.gpus, env.equipment.submission_gpus) == (0, 0)
    # What was played is not decided by this machine's variable.
    assert wanted_gpus(task, None) == (1, 2)


def test_no_gpu_is_asked_for_unless_a_task_says_so(tmp_path):
    assert wanted_gpus(load_task(write_task(tmp_path / "t")), None) == (0, 0)
