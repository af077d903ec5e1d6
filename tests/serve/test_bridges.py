"""The Open Reward Standard and NeMo Gym's contract, without their packages: what is refused.

Their own clients play in ``tests/peers/openreward`` and ``tests/peers/nemo_gym``.
"""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from ludus.errors import ServeError
from ludus.serve import Limits, Served
from ludus.serve.bridge import create_bridge, result_stream
from ludus.serve.nemo_gym import rows
from ludus.serve.settings import ServeSettings
from tests.serve.running import running

CARTPOLE, LAKE = Served.of("CartPole-v1"), Served.of("FrozenLake-v1")
FORM = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def reward():
    limits = Limits(sessions=4)
    with running([CARTPOLE, LAKE], protocol="open-reward", limits=limits) as server:
        yield server


@pytest.fixture(scope="module")
def gym():
    with running([CARTPOLE, LAKE], protocol="nemo-gym") as server:
        yield server


def events(text: str) -> list[tuple[str, str]]:
    return re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)


def session_of(server, **given) -> dict[str, str]:
    """Return the header of a new session; ``given`` says with which task."""
    status, said, _ = server.ask("POST", "/create_session")
    assert status == 200
    headers = {"X-Session-ID": events(said)[0][1]}
    if given:
        assert server.ask("POST", "/create", given, headers)[0] == 200
    return headers


def call(server, headers, tool="act", **given):
    data = {"name": tool, "input": given.pop("input", {"action": 0}), **given}
    status, said, _ = server.ask("POST", "/call", data, headers)
    return status, events(said) if isinstance(said, str) else said


def test_a_call_is_answered_once_however_often_it_is_asked_for(reward):
    headers = session_of(reward, split="train", index=3)
    status, told = call(reward, headers)
    assert (status, [kind for kind, _ in told]) == (200, ["task_id", "end"])
    again = call(reward, headers, task_id=told[0][1])[1]
    assert again == told
    later = json.loads(call(reward, headers)[1][1][1])
    assert later != json.loads(told[1][1])
    for unknown in ("0" * 32, "", 1, ["x"]):
        assert call(reward, headers, task_id=unknown)[0] == 404
    other = session_of(reward, split="train", index=3)
    assert call(reward, other, task_id=told[0][1])[0] == 404
    for one in (headers, other):
        assert reward.ask("POST", "/delete", None, one)[0] == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 422),
        ({"split": "train"}, 422),
        ({"split": "nothing", "index": 0}, 422),
        ({"split": "train", "index": 10**9}, 400),
        ({"split": "train", "index": "0"}, 422),
        ({"task_spec": {}}, 422),
        ({"task_spec": {"seed": -1}}, 422),
        ({"task_spec": {"seed": True}}, 422),
        ({"task_spec": []}, 422),
        ({"task_spec": {"seed": 1}, "env_name": "NoSuchEnv-v1"}, 404),
        ({"task_spec": {"seed": 1}, "env_name": 1}, 404),
        ({"task_spec": {"seed": 1}, "toolset_name": "codex"}, 400),
    ],
)
def test_tasks_that_are_none_are_refused(reward, given, status):
    headers = session_of(reward)
    assert reward.ask("POST", "/create", given, headers)[0] == status
    assert reward.ask("GET", "/prompt", None, headers)[0] == 404


def test_sessions_are_the_servers_own(reward):
    for headers, status in (({}, 400), ({"X-Session-ID": "0" * 32}, 404)):
        assert reward.ask("POST", "/create", {"split": "train", "index": 0}, headers)[0] == status
        assert reward.ask("POST", "/ping", None, headers)[0] == status
        assert call(reward, headers)[0] == status
    headers = session_of(reward, split="train", index=0)
    assert reward.ask("POST", "/create", {"split": "train", "index": 0}, headers)[0] == 400
    assert reward.ask("POST", "/ping", None, headers)[0] == 200
    assert reward.ask("POST", "/delete", None, headers)[0] == 200
    assert call(reward, headers)[0] == 404
    assert reward.service.sessions.active == 0


def test_a_full_server_says_so_and_recovers(reward):
    opened = [session_of(reward, split="train", index=0) for _ in range(5)]
    found = [reward.ask("GET", "/prompt", None, headers) for headers in opened]
    assert sorted(status for status, *_ in found) == [200, 200, 200, 200, 503]
    for headers in opened:
        assert reward.ask("POST", "/delete", None, headers)[0] == 200
    assert reward.service.sessions.active == 0


@pytest.mark.parametrize("path", ["/create", "/call", "/tasks", "/cartpole-v1/task"])
@pytest.mark.parametrize("body", [b"{", b"[]", b"[" * 50_000, b"\xff", b"1"])
def test_bodies_that_are_no_object_are_refused(reward, path, body):
    headers = {**session_of(reward, split="train", index=0), **FORM}
    status, said, _ = reward.ask("POST", path, body, headers)
    assert status in (400, 422)
    assert set(said) == {"detail"}
    reward.ask("POST", "/delete", None, headers)


def test_pieces_of_a_result_do_not_begin_with_a_space():
    async def work() -> None:
        result = asyncio.get_running_loop().create_future()
        result.set_result({"text": "a" + " " * 10_000 + "b c " * 5000})
        text = "".join([piece async for piece in result_stream("id", result).body_iterator])
        pieces = [data for kind, data in events(text) if kind in ("chunk", "end")]
        assert len(pieces) > 2
        assert not any(piece.startswith(" ") for piece in pieces)
        assert json.loads("".join(pieces)) == result.result()

    asyncio.run(work())


def test_a_failure_is_an_event():
    async def work() -> None:
        result = asyncio.get_running_loop().create_future()
        result.set_exception(ServeError("several\nlines"))
        text = "".join([piece async for piece in result_stream("id", result).body_iterator])
        assert events(text)[-1] == ("error", "several lines")

    asyncio.run(work())


def reset(server, headers=None, **row):
    status, said, found = server.ask("POST", "/reset", {**ROW, **row}, {**FORM, **(headers or {})})
    cookie = found.get("set-cookie", "").partition(";")[0]
    return status, said, {**FORM, "cookie": cookie}


ROW = next(iter(rows(CARTPOLE, [3])))


def respond(text=None, **call_of):
    item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    return {**ROW, "response": {"output": [item if text is not None else call_of]}}


def test_the_session_is_a_cookie_of_the_servers(gym):
    status, said, headers = reset(gym)
    assert status == 200
    assert "Keep a pole upright" in said["observation"]
    assert said["info"] == {}
    status, said, _ = gym.ask("POST", "/step", respond("<action>1</action>"), headers)
    assert (status, said["reward"], said["terminated"], said["truncated"]) == (
        200,
        1.0,
        False,
        False,
    )
    for other in ({}, {"cookie": "ludus_episode=" + "0" * 32}, {"cookie": "session=1"}):
        assert gym.ask("POST", "/step", respond("<action>1</action>"), {**FORM, **other})[0] == 404
    assert reset(gym, headers)[0] == 200
    assert gym.ask("POST", "/step", respond("<action>1</action>"), headers)[0] == 404


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (respond(""), "Answer with a call of a tool"),
        (respond("<action>left</action>"), "Discrete(2)"),
        (respond("<action>[[1]]</action>"), "Discrete(2)"),
        (respond("<action>" + "[" * 40_000 + "</action>"), "Discrete(2)"),
        (respond(type="function_call", name="reset", call_id="1", arguments="{}"), "no tool"),
        (respond(type="function_call", name="act", call_id="1", arguments="{"), "one argument"),
        (respond(type="function_call", name="act", call_id="1", arguments="[]"), "one argument"),
        (respond(type="function_call"), "no tool"),
        ({"response": {"output": [1, None, "x", {"type": "message", "content": 1}]}}, "Answer"),
    ],
)
def test_responses_that_are_no_action_change_nothing(gym, response, said):
    _, _, headers = reset(gym)
    status, told, _ = gym.ask("POST", "/step", response, headers)
    assert status == 200
    assert (told["reward"], told["terminated"], told["truncated"]) == (0.0, False, False)
    assert said in json.dumps(told)
    (session,) = (one for one in gym.service.sessions if one.id in headers["cookie"])
    assert session.steps == 0


@pytest.mark.parametrize(
    "row", [{"env": "NoSuchEnv-v1"}, {"env": 1}, {"seed": -1}, {"seed": 1.5}, {"options": []}]
)
def test_rows_that_are_wrong_are_refused(gym, row):
    status, said, _ = reset(gym, **row)
    assert status in (404, 422)
    assert set(said) == {"detail"}


@pytest.mark.parametrize(
    "body", [{}, {"response": 1}, {"response": {}}, {"response": {"output": 1}}]
)
def test_steps_need_a_response(gym, body):
    assert gym.ask("POST", "/step", body, reset(gym)[2])[0] == 422


@pytest.mark.parametrize(
    "found", [None, [1], [{"reward": "1"}], [{"reward": 1, "_ng_task_index": "0"}]]
)
def test_metrics_need_rewards(gym, found):
    assert gym.ask("POST", "/aggregate_metrics", {"verify_responses": found}, FORM)[0] == 422


def test_metrics_of_nothing_are_none(gym):
    status, said, _ = gym.ask("POST", "/aggregate_metrics", {"verify_responses": []}, FORM)
    assert (status, said["key_metrics"]) == (200, {})


def test_there_are_two_protocols():
    with pytest.raises(ServeError, match="nemo-gym"):
        create_bridge([CARTPOLE], ServeSettings(), "gopher")
