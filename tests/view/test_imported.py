"""MLGym's ``.traj`` files and ATIF files as episodes: what they say, and files meant to do harm."""

from __future__ import annotations

import copy
import json
import os
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from ludus.errors import RecordError
from ludus.interop.atif import to_atif
from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep
from ludus.view import ViewSettings, create_app
from ludus.view.episodes import imported
from ludus.view.episodes.imported import read_imported
from tests.interop.test_mlgym_traj import FILE
from tests.view.samples import HOSTILE

ATIF = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s1",
    "agent": {"name": "terminus", "version": "2", "model_name": "big"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Rules."},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Do it."}]},
        {
            "step_id": 3,
            "timestamp": "2026-01-02T03:04:05Z",
            "source": "agent",
            "message": "First this.",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {"tool_call_id": "a", "function_name": "shell", "arguments": {"command": "ls"}}
            ],
            "observation": {"results": [{"source_call_id": "a", "content": "src\n"}]},
            "metrics": {"prompt_tokens": 10, "completion_tokens": 3, "cost_usd": 0.5},
            "extra": {"exit_code": 1, "seconds": 0.25},
        },
        {"step_id": 4, "source": "user", "message": "Go on."},
        {
            "step_id": 5,
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"function_name": "shell", "arguments": {"command": "pwd"}},
                {"function_name": "open", "arguments": {"path": "a.py"}},
            ],
            "observation": {
                "results": [{"content": "/w"}, {"content": [{"type": "image"}, {"text": "b"}]}]
            },
        },
    ],
    "final_metrics": {"total_prompt_tokens": 10, "total_cost_usd": 0.5},
}


@pytest.fixture
def write(tmp_path):
    def written(content, name="run.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return written


def client(*paths) -> TestClient:
    return TestClient(create_app(ViewSettings.of(*paths)), base_url="http://127.0.0.1:8760")


def test_a_file_of_mlgym(write):
    body = copy.deepcopy(FILE)
    body["trajectory"].insert(1, {**FILE["trajectory"][0], "action": "validate\n"})
    read = read_imported(write(body, "run.traj"))
    assert (read.subject.task, read.subject.source) == ("rlMountainCarContinuous", "MLGym")
    assert (read.subject.instruction, read.subject.metric) == ("the task", "Reward Mean")
    assert [step.action for step in read.steps(0, 9)] == ["ls -F", "validate", "submit"]
    assert [step.validation for step in read.steps(0, 9)] == [None, 33.8, None]
    first = read.steps(0, 1)[0]
    assert (first.thought, first.output, first.seconds) == ("I look.", "src/\n", 0.51)
    assert first.cwd == "/home/agent/workspace"
    assert read.result == {"outcome": "submitted", "value": 60.0, "cost": 1.25, "validations": 1}


def test_a_file_in_atif(write):
    read = read_imported(write(ATIF))
    assert (read.subject.agent, read.subject.model, read.subject.source) == (
        "terminus",
        "big",
        "ATIF-v1.6",
    )
    assert read.subject.instruction == "Do it."
    assert read.subject.details["system"] == "Rules."
    first, told, several = read.steps(0, 9)
    assert (first.thought, first.tool, first.action) == ("Hm.\n\nFirst this.", "", "ls")
    assert (first.output, first.exit_code, first.seconds, first.cost) == ("src\n", 1, 0.25, 0.5)
    assert first.tokens == {"prompt": 10, "completion": 3}
    assert (told.tool, told.action) == ("user", "Go on.")
    assert several.action == "pwd\nopen: a.py"
    assert several.output == "/w\n[image]\nb"


def test_what_ludus_writes_in_atif_is_read_again(write):
    steps = (
        TrajectoryStep(action="ls", thought="I look.", output="a\n", exit_code=0, seconds=0.5),
        TrajectoryStep(action={"tool": "open", "arguments": {"path": "x"}}, validation=0.25),
    )
    made = ResearchTrajectory(
        task="answers", steps=steps, source="ludus", instruction="Answer.", agent="react",
        model="m", outcome="submitted", graded="scored", scores=({"score": 0.75},),
        normalised=0.5, cost=2.0,
    )  # fmt: skip
    read = read_imported(write(to_atif(made)))
    subject = read.subject
    assert (subject.task, subject.agent, subject.model) == ("answers", "react", "m")
    assert (subject.instruction, subject.metric) == ("Answer.", "score")
    told = {"outcome": "scored", "end": "submitted", "value": 0.75, "normalised": 0.5, "cost": 2.0}
    assert read.result == told
    first, second = read.steps(0, 9)
    assert (first.action, first.thought, first.output) == ("ls", "I look.", "a\n")
    assert (first.exit_code, first.seconds) == (0, 0.5)
    assert (second.tool, second.action, second.validation) == ("open", "x", 0.25)


def test_pages_of_files(write):
    traj, atif = write(FILE, "run.traj"), write(ATIF, "atif.json")
    with client(traj, atif) as browser:
        listed = browser.get("/runs").text
        for name, action in (("run.traj", "ls -F"), ("atif.json", "Go on.")):
            assert f"/run/{name}/e/record" in listed
            shown = browser.get(f"/run/{name}/e/record")
            assert shown.status_code == 200
            assert action in shown.text
            assert "ludus verify" not in shown.text
            step = browser.get(f"/run/{name}/e/record/s/0")
            assert step.status_code == 200
            assert "src" in step.text
        found = browser.get("/run/atif.json/e/record?q=pwd").text
        assert "1 steps found" in found
        for page in ("files", "conversation", "about", "live", "s/99", "s/x", "output/0", "blob/x"):
            assert browser.get(f"/run/run.traj/e/record/{page}").status_code in (404, 422), page


def hostile_files() -> dict[str, dict]:
    text = "\n".join(HOSTILE)
    traj = {
        "environment": HOSTILE[0],
        "trajectory": [
            {"action": text, "thought": text, "observation": text, "state": {text: text}}
        ],
        "history": [{"role": "user", "content": text, "agent": text}],
        "info": {"exit_status": text, "score": [{HOSTILE[1]: 1.0}]},
    }
    call = {"function_name": HOSTILE[1], "arguments": {HOSTILE[2]: text, "b": {"c": text}}}
    step = {
        "source": "agent", "message": text, "reasoning_content": text, "tool_calls": [call],
        "observation": {"results": [{"content": text}]}, "timestamp": HOSTILE[0],
        "extra": {"state": {"cwd": text}},
    }  # fmt: skip
    atif = {
        "schema_version": f"ATIF-{text}",
        "agent": {"name": text, "model_name": text},
        "steps": [{"source": "user", "message": text}, step, {"source": text, "message": text}],
        "extra": {"task": text, "outcome": text, "scores": [{text: 1}]},
    }
    return {"bad.traj": traj, "bad.json": atif}


@pytest.mark.parametrize("name", ["bad.traj", "bad.json"])
def test_nothing_in_a_file_is_markup(write, name):
    path = write(hostile_files()[name], name)
    with client(path) as browser:
        for page in ("", "/s/0", "/s/1", "?q=script", "/overview"):
            shown = browser.get(f"/run/{name}/e/record{page}")
            if page == "/s/1" and name == "bad.traj":
                assert shown.status_code == 404
                continue
            assert shown.status_code == 200, page
            assert "<script>document" not in shown.text
            assert not re.search(r"<(img|svg)[^>]*on\w+=", shown.text)
            assert not re.search(r"href=[\"']?javascript:", shown.text)
            assert "\x1b" not in shown.text
            assert "\u202e" not in shown.text
            assert "\x00" not in shown.text


BROKEN = {
    "empty": b"",
    "no JSON": b"{'a': 1}",
    "cut": json.dumps(ATIF).encode()[:-20],
    "deep": b"[" * 200_000,
    "deep inside": b'{"schema_version": "ATIF-v1", "steps": ' + b'[{"a":' * 100_000,
    "invalid UTF-8": b'{"trajectory": [{"action": "\xff"}]}',
    "a list": b"[]",
    "a number": b"1e999",
    "long digits": b'{"trajectory": ' + b"1" * 10_000 + b"}",
    "no steps": b'{"schema_version": "ATIF-v1.6"}',
    "another object": b'{"steps": []}',
    "steps that are none": b'{"trajectory": [1]}',
    "many steps": b'{"schema_version": "ATIF-v1", "steps": [' + b"{}," * 20_000 + b"{}]}",
    "many values": b'{"schema_version": "ATIF-v1", "steps": [' + b"[]," * 1_100_000 + b"{}]}",
    "a text without an end": b'{"a": "' + b'\\"' * 1_000_000,
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("name", ["broken.traj", "broken.json"])
def test_what_is_no_trajectory_is_refused(write, what, name):
    path = write(BROKEN[what], name)
    tracemalloc.start()
    try:
        with pytest.raises(RecordError) as told:
            read_imported(path)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()
    assert len(str(told.value)) < 600


def test_refusals_are_pages(write):
    with client(write(b"{", "x.json")) as browser:
        shown = browser.get("/run/x.json/e/record")
        assert shown.status_code == 422
        assert "is no JSON" in shown.text
        assert browser.get("/run/x.json/e/record/s/0").status_code == 422


def test_a_file_that_is_too_large_is_not_read(write, tmp_path):
    path = write(b"{}", "large.json")
    os.truncate(path, imported.MAX_BYTES + 1)
    with pytest.raises(RecordError, match="too many to be shown"):
        read_imported(path)


def test_pipes_folders_and_what_is_gone(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    for name in ("pipe.json", "folder.json", "gone.json"):
        with pytest.raises(RecordError, match="cannot be read"):
            read_imported(tmp_path / name)


def test_long_outputs_keep_both_ends(write):
    body = copy.deepcopy(FILE)
    body["trajectory"][0]["observation"] = "a" * 200_000 + "b" * 200_000
    (step,) = read_imported(write(body, "long.traj")).steps(0, 1)
    assert (step.output, step.tail) == ("a" * 70_000, "b" * 70_000)
    assert step.characters == 400_000


def test_a_file_that_changes_is_read_again(write):
    path = write(ATIF)
    assert read_imported(path).count == 3
    assert read_imported(path) is read_imported(path)
    changed = {**ATIF, "steps": ATIF["steps"][:3]}
    write(changed)
    assert read_imported(path).count == 1


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
step_like = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("source", "message", "tool_calls", "observation", "metrics", "extra", "action"), plain
    ),
)


@settings(deadline=None, max_examples=150)
@given(body=st.fixed_dictionaries(
    {"schema_version": st.just("ATIF-v1.8"), "steps": st.lists(step_like | plain, max_size=4)},
    optional={"agent": plain, "extra": plain, "final_metrics": plain, "notes": plain},
))  # fmt: skip
def test_fields_of_any_type(tmp_path_factory, body):
    """Each is shown, or counts as missing."""
    path = tmp_path_factory.mktemp("any") / "any.json"
    path.write_text(json.dumps(body))
    read = read_imported(path)
    with client(path) as browser:
        assert browser.get("/run/any.json/e/record").status_code == 200
        for step in read.listed[:2]:
            assert browser.get(f"/run/any.json/e/record/s/{step.n}").status_code == 200
