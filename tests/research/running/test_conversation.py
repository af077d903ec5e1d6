"""The conversation with the model in records and in exports."""

from __future__ import annotations

import hashlib
import json
import os

import pytest

from ludus.bench import RunSettings
from ludus.bench.running.folder import BenchFolder
from ludus.errors import RecordDamaged
from ludus.interop.research_episodes import episode_row, export_atif, export_jsonl
from ludus.record import fsck, read_run
from ludus.research.agents.calls import ModelCall
from ludus.research.agents.replies import Answer, Reply
from ludus.research.model_server.policies import Call, Fail, Raw, Say, in_order
from ludus.research.model_server.server import ModelServer
from ludus.research.running import job as job_module
from ludus.research.running import resume_research
from ludus.research.running.conversation import Asks, read_calls
from ludus.research.running.log import Log
from ludus.research.running.story import tell
from tests.research.running.support import (
    answers,
    fake_grade,
    in_child,
    kinds,
    record_of,
    set_answer,
    start,
)

pytest.importorskip("openai")

SERIAL = RunSettings(engine="serial", backoff=0.01)
PRICES = {"prices": {"m": {"input": 100, "output": 100}}}
AGENT = {"model": "m", "max_retries": 0, **PRICES}


def with_tokens(call: Call, *, ids=(5, 6)):
    """A tool call, with all that a server for training gives."""
    arguments = json.dumps(call.arguments)
    function = {"name": call.tool, "arguments": arguments}
    calls = [{"id": "call_x", "type": "function", "function": function}]
    message = {"role": "assistant", "content": "", "tool_calls": calls, "reasoning": "Aha."}
    rows = [{"token": "t", "logprob": -0.25} for _ in ids]
    choice = {"message": message, "finish_reason": "tool_calls", "token_ids": list(ids)}
    choice |= {"logprobs": {"content": rows}}
    usage = {"prompt_tokens": 3, "completion_tokens": len(ids)}
    return Raw({"choices": [choice], "prompt_token_ids": [1, 2, 3], "usage": usage})


# 20,000 braces of a reply and 30,000 token ids are too much for an event.
LONG = f"echo '{'{}' * 10_000}' | wc -c"
SCRIPT = [
    Call("shell", {"command": "seq 3"}, "I look."),
    Say("I forgot to call a tool."),
    Call("shell", {"command": LONG}),
    with_tokens(Call("shell", {"command": set_answer(0.9)}), ids=range(30_000)),
    with_tokens(Call("submit")),
]


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    return answers(tmp_path)


@pytest.fixture
def played(task, tmp_path):
    with ModelServer(in_order(SCRIPT)) as server:
        done = start(task, "react", tmp_path / "run", agent_options=AGENT, base_url=server.base_url)
        assert done.exit_code == 0
    return server, BenchFolder.open(tmp_path / "run")


def test_the_record_has_what_was_sent_and_what_came_back(played):
    server, folder = played
    path = record_of(folder.path)
    calls = list(read_calls(read_run(path)))
    assert [list(call.messages) for call in calls] == [
        list(request.messages) for request in server.requests
    ]
    assert [list(call.tools) for call in calls] == [one.body["tools"] for one in server.requests]
    assert [call.n for call in calls] == [0, 1, 1, 2, 3]
    assert calls[1].reply == {"role": "assistant", "content": "I forgot to call a tool."}
    assert calls[1].finish == "stop"
    assert calls[2].reply["tool_calls"][0]["function"]["arguments"] == json.dumps({"command": LONG})
    assert calls[3].reasoning == "Aha."
    assert (calls[3].prompt_token_ids, len(calls[3].completion_token_ids)) == ([1, 2, 3], 30_000)
    assert calls[3].logprobs == [-0.25] * 30_000
    assert calls[0].completion_token_ids is None
    result = folder.results()[0]
    assert sum(call.usage["cost"] for call in calls) == pytest.approx(result.cost)
    assert fsck(path).ok
    stored = [event.data for event in read_run(path).events if event.kind == "ask"]
    bodies = [digest for data in stored for digest in data["bodies"]]
    assert len(bodies) == len(set(bodies))
    assert stored[-1]["kept"] > 0


def test_a_changed_file_of_the_conversation_is_found(played):
    path = record_of(played[1].path)
    file = max((path / "conversation").iterdir(), key=lambda one: one.stat().st_size)
    file.write_bytes(file.read_bytes().replace(b"2", b"3", 1))
    assert not fsck(path).ok
    with pytest.raises(RecordDamaged, match="not what it was"):
        list(read_calls(read_run(path)))


def test_lines_for_training(played, tmp_path):
    server, folder = played
    done = export_jsonl(folder, tmp_path / "e.jsonl")
    assert (done.episodes, done.left_out) == (1, ())
    (line,) = (tmp_path / "e.jsonl").read_text().splitlines()
    row = json.loads(line)
    for call, request in zip(row["calls"], server.requests, strict=True):
        assert [row["messages"][n] for n in call["prompt"]] == list(request.messages)
    assert len(row["messages"]) < 12  # each of them once
    assert [one["step"] for one in row["calls"]] == [0, 1, 1, 2, 3]
    assert row["calls"][3]["reasoning"] == "Aha."
    assert row["calls"][4]["logprobs"] == [-0.25, -0.25]
    assert [one["action"] for one in row["steps"]][:2] == ["seq 3", LONG]
    assert sum(one["reward"] for one in row["steps"]) == pytest.approx(row["normalised"])
    assert (row["outcome"], row["end"], row["model"]) == ("scored", "submitted", "m")
    assert row["success"] is False
    with pytest.raises(FileExistsError, match="exists"):
        export_jsonl(folder, tmp_path / "e.jsonl")


def test_atif(played, tmp_path):
    _, folder = played
    export_atif(folder, tmp_path / "atif")
    (file,) = (tmp_path / "atif").iterdir()
    body = json.loads(file.read_text())
    assert body["schema_version"] == "ATIF-v1.8"
    steps = body["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, 7))
    malformed = steps[2]
    assert (malformed["message"], "tool_calls" in malformed) == ("I forgot to call a tool.", False)
    assert "no tool call" in malformed["observation"]["results"][0]["content"]
    assert [step.get("llm_call_count") for step in steps[1:]] == [1] * 5
    last = steps[-1]
    assert last["reasoning_content"] == "Aha."
    metrics = last["metrics"]
    assert metrics["prompt_token_ids"] == [1, 2, 3]
    assert (metrics["completion_token_ids"], metrics["logprobs"]) == ([5, 6], [-0.25, -0.25])
    assert sum(step["metrics"]["cost_usd"] for step in steps[1:]) == pytest.approx(
        body["final_metrics"]["total_cost_usd"]
    )


def test_an_answer_is_not_asked_for_again_after_a_kill(task, tmp_path, monkeypatch):
    """Killed when a malformed reply and a good one are recorded, and the decision is not."""
    real = Log._append

    def deadly(self, kind, data):
        if kind == "act" and data["n"] == 1:
            os.kill(os.getpid(), 9)
        real(self, kind, data)

    with ModelServer(in_order(SCRIPT)) as server:

        def work():
            monkeypatch.setattr(Log, "_append", deadly)
            start(task, "react", tmp_path / "run", agent_options=AGENT, base_url=server.base_url)

        assert in_child(work) == -9
        done = resume_research(tmp_path / "run", settings=SERIAL)
    assert len(server.requests) == len(SCRIPT)
    (result,) = done.results
    assert (result.outcome, result.extra["usage"]["calls"]) == ("scored", len(SCRIPT))
    calls = list(read_calls(read_run(record_of(tmp_path / "run"))))
    assert [call.n for call in calls] == [0, 1, 1, 2, 3]
    assert sum(call.usage["cost"] for call in calls) == pytest.approx(result.cost)


def test_calls_before_a_fault_are_kept_and_not_made_again(task, tmp_path):
    # After the failure the first request is made again, to see whether the server is there.
    with ModelServer(in_order([*SCRIPT[:2], Fail(500), Fail(500), *SCRIPT[2:]])) as server:
        done = start(
            task, "react", tmp_path / "run", agent_options=AGENT, base_url=server.base_url,
            settings=SERIAL,
        )  # fmt: skip
    assert done.exit_code == 0
    assert len(server.requests) == len(SCRIPT) + 2
    assert kinds(record_of(tmp_path / "run")).count("ask") == len(SCRIPT)
    assert done.results[0].extra["usage"]["calls"] == len(SCRIPT)


def test_agents_of_ones_own_may_report_their_calls(task, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    done = start(task, f"mine={tmp_path / 'mine.py'}:Mine", tmp_path / "run")
    assert done.exit_code == 0
    (call,) = read_calls(read_run(record_of(tmp_path / "run")))
    assert call.messages == ({"role": "user", "content": "What now?"},)
    assert call.reply["content"] == "Submit."
    assert done.results[0].cost == 0.5  # although it has no attribute 'cost'
    row = episode_row(BenchFolder.open(tmp_path / "run"), done.results[0])
    assert row["calls"][0]["usage"] == {"cached_tokens": 0, "cost": 0.5, "retries": 0}


OWN = """\
from ludus.research.agents.calls import ModelCall
from ludus.research.agents.replies import Answer, Reply

class Mine:
    def log_calls(self, log):
        self.log = log
    def act(self, observation):
        said = {"role": "assistant", "content": "Submit."}
        answer = Answer(Reply("Submit."), message=said, prompt_tokens=3, completion_tokens=1)
        self.log.add(ModelCall([{"role": "user", "content": "What now?"}], [], answer, cost=0.5))
        return "submit"
"""


@pytest.mark.parametrize("cost", [-1.0, float("inf"), float("nan")])
def test_an_agents_call_without_a_real_cost_is_its_own_error(cost):
    with pytest.raises(ValueError, match="The cost of a call"):
        ModelCall([], [], Answer(Reply()), cost=cost)


def ask(**changes):
    message = {"role": "user", "content": "x"}
    text = json.dumps(message, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(text).hexdigest()
    data = {
        "call": 0, "kept": 0, "messages": [digest], "tools": "", "bodies": {digest: message},
        "reply": {}, "finish": "stop", "usage": {"cost": 0.0}, "seconds": 1.0,
    }  # fmt: skip
    return {**data, **changes}


@pytest.mark.parametrize(
    "wrong",
    [
        {"call": 1},
        {"kept": 1},
        {"kept": True},
        {"messages": ["0" * 64]},
        {"bodies": {"0" * 64: "x"}},
        {"reply": {"file": "0" * 64}},
        {"tools": "0" * 64},
        {"usage": {}},
        {"usage": {"cost": -1.0}},
        {"usage": {"cost": float("nan")}},
    ],
)
def test_forged_calls_are_refused(wrong):
    Asks().take(ask())
    with pytest.raises((KeyError, TypeError, ValueError)):
        Asks().take(ask(**wrong))


def test_a_call_after_the_decision_is_refused(played):
    events = list(read_run(record_of(played[1].path)).events)
    asks = [n for n, event in enumerate(events) if event.kind == "ask"]
    moved = [*events[: asks[0]], events[asks[0] + 1], events[asks[0]], *events[asks[0] + 2 :]]
    with pytest.raises(RecordDamaged, match="decided already"):
        tell(moved)
