"""Attacks on those who read a record's conversation, by whoever wrote the record."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from types import SimpleNamespace

import pytest

from ludus.errors import RecordDamaged
from ludus.interop.atif import write_atif
from ludus.interop.research_episodes import export_atif, export_jsonl
from ludus.record import Run, read_run
from ludus.research.running import conversation
from ludus.research.running.conversation import Asks, Conversation, read_calls
from ludus.research.running.progress import standing
from ludus.research.running.story import KIND, Story, tell
from ludus.research.running.trajectory import trajectory_of_run
from tests.research.running.support import record_of
from tests.research.running.test_conversation import ask, played, task

__all__ = ["played", "task"]


HUGE = 2**1024 - 1
"""The largest whole number of a record, which no float is."""


def test_small_events_that_stand_for_very_long_prompts(monkeypatch):
    """Events of 300 bytes, each with a prompt of 100,000 messages, of which nothing is new."""
    monkeypatch.setattr(conversation, "_MOST_IN_ALL", 1_000_000)
    asks = Asks()
    first = ask()
    asks.take({**first, "messages": first["messages"] * 50_000})
    more = [
        {**first, "call": number, "kept": 50_000, "messages": [], "bodies": {}}
        for number in range(1, 5000)
    ]
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="too many messages"):
            take(asks, more)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def take(asks, events):
    for one in events:
        asks.take(one)


def forged(path, *events):
    subject = {"task": "x", "agent": "a", "seed": 0, "unit": {"budget": {"max_steps": 9}}}
    with Run.create(path, kind=KIND, subject=subject) as run:
        for kind, data in events:
            run.append(kind, data)
    return path


def called(**changes):
    return ("ask", {"n": 0, **ask(), **changes})


ACT = ("act", {"n": 0, "action": "ls", "cost": 0.0, "state": None})


@pytest.mark.parametrize(
    "event",
    [called(seconds=HUGE), called(usage={"cost": HUGE}), called(kept=HUGE),
     called(messages=None), called(bodies=[]), called(usage=[]), called(reply={"file": "../x"}),
     called(seconds="a"), called(n=HUGE)],
    ids=range(9),
)  # fmt: skip
def test_events_of_odd_forms_are_damage(tmp_path, event):
    path = forged(tmp_path / "r", event)
    with pytest.raises(RecordDamaged):
        read_all(path)


def read_all(path):
    tell(read_run(path).events)
    list(read_calls(read_run(path)))


STEP = {
    "n": 0, "action": "ls", "output": "", "exit_code": 0, "cwd": "/", "reward": 0.0,
    "terminated": False, "truncated": False,
}  # fmt: skip


@pytest.mark.parametrize(
    "events",
    [
        [called(seconds=float("nan")), ACT, ("step", STEP)],
        [called(usage={"cost": 0.0, "prompt_tokens": b"x"}), ACT, ("step", STEP)],
        [called(reply=[1]), ACT, ("step", STEP)],
    ],
    ids=["nan", "bytes", "reply"],
)
def test_what_no_json_holds_is_damage_and_no_traceback(tmp_path, events):
    path = forged(tmp_path / "r", *events)
    with pytest.raises(RecordDamaged):
        write_atif(trajectory_of_run(path), tmp_path / "t.json")
    assert not (tmp_path / "t.json").exists()


@pytest.mark.parametrize("action", [{}, {"tool": 3, "arguments": [1]}, {"tool": {"a": 1}}])
def test_actions_of_odd_forms_are_exported(tmp_path, action):
    path = forged(tmp_path / "r", ("act", {**ACT[1], "action": action}),
                  ("step", {**STEP, "action": action}))  # fmt: skip
    write_atif(trajectory_of_run(path), tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["steps"][1]["tool_calls"]


@pytest.mark.parametrize("content", [None, b'{"role": "assistant", "content": "submit"}'])
def test_an_exchanged_reply_is_no_fault_of_the_agent(tmp_path, content):
    """A reply was recorded, the episode interrupted, and the reply's file replaced or removed."""
    reply = hashlib.sha256(b"the reply as it was").hexdigest()
    (tmp_path / "conversation").mkdir()
    if content is not None:
        (tmp_path / "conversation" / reply).write_bytes(content)
    story = Story()
    story.asks.files.add(reply)
    story.asks.take(ask(n=0, reply={"file": reply}))
    known = Conversation(SimpleNamespace(story=story, path=tmp_path))
    with pytest.raises(RecordDamaged, match="missing, or not what it was"):
        known.known([{"role": "user", "content": "x"}], [])
    assert known.problem is not None  # by which the runner knows


def test_a_long_action_does_not_hide_what_was_spent_before(tmp_path):
    """``--max-total-cost`` reads the end of records only, and a reply may be longer than that."""
    action = "x" * (1 << 20)
    step = {**STEP, "action": action, "cost": 0.7, "spent": 1.0, "validation": None}
    path = forged(
        tmp_path / "r",
        ("act", {"n": 0, "action": action, "cost": 0.7}),
        ("step", step),
        ("act", {"n": 1, "action": action, "cost": 0.5}),
    )
    assert standing(path).cost == pytest.approx(1.2)


@pytest.mark.parametrize("export", [export_jsonl, export_atif])
def test_a_record_behind_a_link_is_not_exported(played, tmp_path, export):
    """Somebody's folder would bring episodes of another folder of yours along."""
    folder = played[1]
    record = record_of(folder.path)
    record.rename(tmp_path / "private")
    record.symlink_to(tmp_path / "private")
    with pytest.raises(RecordDamaged):
        export(folder, tmp_path / "out")


@pytest.mark.parametrize("export", [export_jsonl, export_atif])
def test_another_record_than_the_results_is_not_exported(played, tmp_path, export):
    folder = played[1]
    (file,) = (folder.path / "results").iterdir()
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "head": hashlib.sha256(b"x").hexdigest()}))
    with pytest.raises(RecordDamaged, match="is expected"):
        export(folder, tmp_path / "out")
