"""Egress of research tasks: for the agent only, told in the record."""

from __future__ import annotations

import json
import threading
import time

import pytest

from ludus.errors import TaskError
from ludus.record import read_run
from ludus.research import load_task
from ludus.research.episode.agent_sandbox import agent_policy
from ludus.research.running import job as job_module
from ludus.research.running.options import EpisodeOptions
from ludus.sandbox import opening
from tests.research.env_support import LOOSE, FakeGrade, make, write_task
from tests.research.grading.support import boxed
from tests.research.running.support import (
    GOOD,
    GUESS,
    answers,
    fake_grade,
    record_of,
    start,
    write_script,
)
from tests.sandbox.egress.servers import serving

FETCH = (
    'python3 -c "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read())"'
)


def test_a_task_and_its_operator_allow_hosts(tmp_path):
    folder = write_task(tmp_path / "answers")
    with (folder / "task.yaml").open("a") as file:
        file.write("egress: [pypi.org, '*.pythonhosted.org:443']\n")
    task = load_task(folder)
    assert agent_policy(task).egress == ("pypi.org:443", "*.pythonhosted.org:443")
    options = EpisodeOptions(egress=("127.0.0.1:8000", "pypi.org"), unlimited=bool(LOOSE))
    made = agent_policy(task, options.policy)
    assert made.egress == ("pypi.org:443", "*.pythonhosted.org:443", "127.0.0.1:8000")
    assert agent_policy(load_task("battleOfSexes")).egress == ()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:80", "169.254.169.254:80", "10.1.1.1:443", "'[::1]:80'", "http://a.org", "'*'"],
)
def test_a_task_allows_no_private_address(tmp_path, host):
    folder = write_task(tmp_path / "answers")
    with (folder / "task.yaml").open("a") as file:
        file.write(f"egress: [{host}]\n")
    with pytest.raises(TaskError, match="egress"):
        load_task(folder)


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="egress has"):
        EpisodeOptions(egress=("http://x",))


@boxed
def test_the_record_tells_what_was_passed_and_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    with serving() as server:
        local = f"127.0.0.1:{server.port}"
        script = [f"{FETCH} http://{local}/", f"{FETCH} http://example.org/; true", "sleep 0.3"]
        agent_options = {"file": write_script(tmp_path / "script.json", [*script, "submit"])}
        out = tmp_path / "run"
        start(answers(tmp_path), "scripted", out, agent_options=agent_options, egress=(local,))
    run = read_run(record_of(out))
    assert run.manifest["subject"]["egress"] == [local]
    steps = [event.data for event in run.events if event.kind == "step"]
    assert "hello" in steps[0]["output"]
    rows = [row for step in steps for row in step.get("egress", [])]
    assert [(row["host"], row["passed"]) for row in rows] == [
        ("127.0.0.1", True),
        ("example.org", False),
    ]
    assert rows[0]["up"] > 0
    assert rows[0]["down"] > 0
    assert "allow-list" in rows[1]["reason"]
    assert "hello" not in json.dumps(rows)


@boxed
def test_graders_and_submissions_have_no_egress(tmp_path, monkeypatch):
    """An operator allows a host; the submitted code, run by the grader, reaches nothing."""
    opened = []
    real = opening.backend_class("bubblewrap").__init__

    def watch(self, policy, **more):
        opened.append((more.get("label"), policy.egress, policy.network))
        real(self, policy, **more)

    monkeypatch.setattr(opening.backend_class("bubblewrap"), "__init__", watch)
    with serving() as server:
        # What is submitted tries every way out before it plays well.
        attack = f"""
import os, socket
for port in (3128, {server.port}):
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as made:
            made.sendall(b"GET http://127.0.0.1:{server.port}/leak HTTP/1.1\\r\\n"
                         b"Host: 127.0.0.1:{server.port}\\r\\n\\r\\n")
            made.recv(100)
    except OSError:
        pass
assert "HTTP_PROXY" not in os.environ
"""
        code = (attack + GOOD).replace("'", "'\\''")
        script = [f"printf %s '{code}' > guess.py", "validate", "submit"]
        agent_options = {"file": write_script(tmp_path / "script.json", script)}
        out = tmp_path / "run"
        done = start(
            GUESS,
            "scripted",
            out,
            agent_options=agent_options,
            egress=(f"127.0.0.1:{server.port}",),
        )
        assert server.connections == 0
    assert done.results[0].outcome == "scored"
    by_label = {label: (egress, network) for label, egress, network in opened}
    assert by_label["code"] == by_label["grader"] == ((), "none")
    assert any(egress for _, egress, _ in opened)


HOLD = """
import os, socket, time
made = socket.create_connection(("127.0.0.1", 3128))
made.sendall(b"POST http://HOST/ HTTP/1.1\\r\\nHost: HOST\\r\\nContent-Length: 9\\r\\n\\r\\nsecret")
time.sleep(60)
"""


@boxed
@pytest.mark.skipif(bool(LOOSE), reason="background jobs need root")
def test_a_transfer_that_is_open_at_the_end_is_told(tmp_path):
    """The server is silent, so that the connection outlives its client."""

    def keep_silent(client, server):
        while data := client.recv(65536):
            server.seen.append(data)
        client.settimeout(60)
        client.recv(1)
        ended.wait(20)

    ended = threading.Event()
    with serving(keep_silent) as server:
        local = f"127.0.0.1:{server.port}"
        task = write_task(tmp_path / "answers")
        with make(task, grade=FakeGrade(), policy={"egress": [local]}) as env:
            env.reset(seed=0)
            env.sandbox.write_bytes("/workspace/hold.py", HOLD.replace("HOST", local).encode())
            env.step("jobs start python3 hold.py")
            time.sleep(0.5)
            *_, info = env.step("submit")
            ended.set()
    assert server.text.endswith(b"secret")
    assert [(row["host"], row["passed"]) for row in info["egress"]] == [("127.0.0.1", True)]
