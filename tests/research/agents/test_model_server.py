from __future__ import annotations

import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

from ludus.research.model_server.policies import (
    Break,
    Call,
    Fail,
    Raw,
    Say,
    Slow,
    by_step,
    in_order,
)
from ludus.research.model_server.server import ModelServer

HELLO = [{"role": "user", "content": "hello"}]


def ask(server, body, *, path="/chat/completions", method="POST"):
    parts = urlsplit(server.base_url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, parts.path + path, raw if method == "POST" else None)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response, text


def test_it_says_what_the_policy_says_and_counts_tokens():
    with ModelServer(in_order([Say("good day")])) as server:
        response, text = ask(server, {"model": "m", "messages": HELLO})
    body = json.loads(text)
    assert response.status == 200
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "good day"}
    assert body["choices"][0]["finish_reason"] == "stop"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert server.requests[0].messages == HELLO


def test_it_calls_tools():
    with ModelServer(in_order([Call("open", {"path": "a.py"}, "Reading.")])) as server:
        _, text = ask(server, {"messages": HELLO})
    choice = json.loads(text)["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    call = choice["message"]["tool_calls"][0]
    assert call["function"] == {"name": "open", "arguments": '{"path": "a.py"}'}


def test_the_same_request_gets_the_same_bytes():
    texts = []
    for _ in range(2):
        with ModelServer(in_order([Call("ls", {})])) as server:
            texts.append(ask(server, {"messages": HELLO})[1])
    assert texts[0] == texts[1]


def test_it_lists_its_model():
    with ModelServer(in_order([]), model="tiny") as server:
        response, text = ask(server, {}, path="/models", method="GET")
        missing, _ = ask(server, {}, path="/elsewhere", method="GET")
    assert response.status == 200
    assert [model["id"] for model in json.loads(text)["data"]] == ["tiny"]
    assert missing.status == 404


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"messages": 3}', b'{"messages": ["x"]}', b"[" * 100_000, b"\xff"]
)
def test_it_refuses_what_is_no_request(body):
    with ModelServer(in_order([Say("never")])) as server:
        response, text = ask(server, body)
    assert response.status == 400
    assert "messages" in json.loads(text)["error"]["message"]
    assert server.requests == []


def test_it_fails_on_purpose():
    faults = [Fail(429, retry_after="7", code="rate"), Raw({"choices": []}), Break("truncated")]
    with ModelServer(in_order(faults)) as server:
        limited, text = ask(server, {"messages": HELLO})
        _, raw = ask(server, {"messages": HELLO})
        _, broken = ask(server, {"messages": HELLO})
    assert (limited.status, limited.getheader("Retry-After")) == (429, "7")
    assert json.loads(text)["error"]["code"] == "rate"
    assert json.loads(raw) == {"choices": []}
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(broken)


@pytest.mark.parametrize("how", ["short", "nothing"])
def test_it_breaks_off(how):
    with (
        ModelServer(in_order([Break(how)])) as server,
        pytest.raises((http.client.HTTPException, ConnectionError)),
    ):
        ask(server, {"messages": HELLO})


def test_it_refuses_prompts_longer_than_its_context():
    with ModelServer(in_order([Say("ok"), Say("ok")]), context_tokens=50) as server:
        short, _ = ask(server, {"messages": HELLO})
        long, text = ask(server, {"messages": [{"role": "user", "content": "x" * 400}]})
    assert short.status == 200
    assert long.status == 400
    assert json.loads(text)["error"]["code"] == "context_length_exceeded"


def test_a_script_that_is_over_refuses():
    with ModelServer(in_order([])) as server:
        response, text = ask(server, {"messages": HELLO})
    assert response.status == 400
    assert b"only 0 reactions" in text


def test_conversations_at_once_follow_their_own_scripts():
    scripts = {"apples": [Say("a0"), Say("a1")], "pears": [Say("p0"), Say("p1")]}

    def said(mark, *others):
        opening = {"role": "user", "content": f"about {mark}"}
        _, text = ask(server, {"messages": [{"role": "system", "content": "s"}, opening, *others]})
        return json.loads(text)["choices"][0]["message"]["content"]

    own = {"role": "assistant", "content": "…"}
    note = {"role": "user", "content": "[7 steps are left out here]"}
    with ModelServer(by_step(scripts)) as server:
        assert said("apples") == "a0"
        assert said("pears", own) == "p1"
        assert said("apples", own) == "a1"
        assert said("pears") == "p0"
        assert said("pears", note) == "p1"
        assert ask(server, {"messages": HELLO})[0].status == 400


def test_it_streams():
    openai = pytest.importorskip("openai")
    call = Call("shell", {"command": "python solve.py --epochs 3"}, "Here is a longer thought.")
    with ModelServer(in_order([call])) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0)
        text, name, arguments, usage = "", "", "", None
        with (
            client,
            client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream,
        ):
            for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or ():
                        name += piece.function.name or ""
                        arguments += piece.function.arguments
    assert (text, name) == ("Here is a longer thought.", "shell")
    assert json.loads(arguments) == {"command": "python solve.py --epochs 3"}
    assert usage.total_tokens > 0


def test_closing_ends_its_threads_and_slow_answers_and_frees_its_port():
    before = threading.active_count()
    asked = threading.Event()

    def policy(request):
        asked.set()
        return Slow(600, Say("late"))

    server = ModelServer(policy).start()
    url = server.base_url
    errors = []

    def impatient():
        try:
            ask(server, {"messages": HELLO})
        except OSError as problem:
            errors.append(problem)

    client = threading.Thread(target=impatient)
    client.start()
    assert asked.wait(10)
    server.close()
    server.close()
    client.join(10)
    assert not client.is_alive()
    assert threading.active_count() <= before + 1
    with pytest.raises(RuntimeError, match="does not run"):
        _ = server.base_url
    parts = urlsplit(url)
    with pytest.raises(ConnectionError):
        http.client.HTTPConnection(parts.hostname, parts.port, timeout=5).connect()


def test_it_listens_on_this_machine_alone():
    with ModelServer(in_order([])) as server:
        assert urlsplit(server.base_url).hostname == "127.0.0.1"
