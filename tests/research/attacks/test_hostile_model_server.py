"""Attacks on the agent ``react`` by the server of its model."""

from __future__ import annotations

import json
import re
import socket
import zlib
from threading import Thread

import pytest

pytest.importorskip("openai")

from ludus.errors import ModelServerError
from ludus.research.agents.accounting import Caps, Price
from ludus.research.agents.client import (
    Backoff,
    ModelClient,
    RequestRefused,
    ServerFailed,
)
from ludus.research.agents.protocol import AgentStopped
from ludus.research.agents.react import ReactAgent, ReactConfig
from tests.research.agents.support import Waits, seen

KEY = "sk-a-secret-of-many-letters"
HEAD = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\n"


class Server:
    """Gives the same answer to every request, and then what has no end."""

    def __init__(self, *pieces, forever=b"", pause=0.0, echo=False):
        self._pieces, self._forever, self._pause, self._echo = pieces, forever, pause, echo
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.asked = []
        self._thread = Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *rest):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                try:
                    self._answer(connection)
                except OSError:
                    continue

    def _answer(self, connection):
        asked = b""
        # To the end: closing before all is read resets the connection, the answer included.
        while b"\r\n\r\n" not in asked or len(asked) < asked.index(b"\r\n\r\n") + 4 + length(asked):
            if not (piece := connection.recv(1 << 16)):
                return
            asked += piece
        head = asked.partition(b"\r\n\r\n")[0]
        self.asked.append(head)
        for piece in self._pieces:
            connection.sendall(piece)
        if self._echo:
            connection.sendall(json.dumps({"error": {"message": head.decode()}}).encode())
        while self._forever:
            connection.sendall(self._forever)
            if self._pause:
                connection.settimeout(self._pause)
                try:
                    if not connection.recv(1 << 16):
                        return
                except TimeoutError:
                    pass


def length(asked):
    """Return how many bytes follow the head of a request."""
    found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", asked)
    return int(found[1]) if found else 0


def client(server, **changes):
    options = {"api_key": KEY, "max_retries": 0, "timeout": 1.0, "backoff": Backoff(sleep=Waits())}
    return ModelClient("m", base_url=server.url, **{**options, **changes})


def ask(server, **changes):
    with server:
        asking = client(server, **changes)
        try:
            return asking.ask([{"role": "user", "content": "hi"}], max_tokens=9, seconds=60)
        finally:
            asking.close()


@pytest.mark.parametrize(
    ("pieces", "forever", "pause"),
    [
        ([], b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
        ([], b"H", 0.05),
        ([b"HTTP/1.1 200 OK\r\nA: "], b"a", 0.05),
        ([HEAD % 200, b"\r\n"], b" ", 0.05),
        ([HEAD % 400, b"\r\n"], b" ", 0.05),
        ([HEAD % 500, b"\r\n"], b" ", 0.05),
        ([HEAD % 200, b"\r\n"], b" " * 65536, 0.0),
        ([HEAD % 400, b"\r\n"], b" " * 65536, 0.0),
        ([HEAD % 500, b"\r\n"], b" " * 65536, 0.0),
    ],
    ids=["interim", "status", "headers", "slow", "slow 400", "slow 500", "big", "big 400",
         "big 500"],
)  # fmt: skip
def test_answers_without_end_end(pieces, forever, pause):
    """The deadline holds in every phase, and errors are read up to a limit."""
    with pytest.raises(ModelServerError):
        ask(Server(*pieces, forever=forever, pause=pause))


def test_the_check_before_a_run_ends_too(monkeypatch):
    monkeypatch.setattr("ludus.research.agents.client._CHECK_SECONDS", 0.5)
    with Server(forever=b"H", pause=0.05) as server:
        checked = client(server)
        with pytest.raises(ModelServerError, match="cannot be reached"):
            checked.check()
        checked.close()


def test_an_error_that_breaks_off_is_the_servers():
    """It was an exception of the HTTP library, which counted as the agent's fault."""
    with pytest.raises(ServerFailed, match="status 500|no answer"):
        ask(Server(HEAD % 500, b"Content-Length: 1000\r\n\r\nabc"))


@pytest.mark.parametrize("status", [200, 400, 500])
def test_what_is_compressed_twice_is_not_read(status):
    """64 KiB of it can become 64 GiB."""
    body = b" " * (1 << 20)
    for _ in range(2):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = packer.compress(body) + packer.flush()
    head = HEAD % status + b"Content-Encoding: gzip, gzip\r\n\r\n"
    with pytest.raises(ServerFailed, match="encoded as 'gzip, gzip'"):
        ask(Server(head, body))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_conversation_is_not_sent_to_another_host(status):
    with Server(HEAD % 200, b"\r\n{}") as other:
        place = other.url.encode()
        with pytest.raises(ModelServerError, match="which is not asked"):
            ask(Server(HEAD % status + b"Location: " + place + b"/x\r\nContent-Length: 0\r\n\r\n"))
    assert other.asked == []


@pytest.mark.parametrize(
    ("status", "kind"), [(400, RequestRefused), (401, ModelServerError), (500, ServerFailed)]
)
def test_a_key_that_a_server_repeats_is_in_no_message(status, kind):
    server = Server(HEAD % status, b"\r\n", echo=True)
    with pytest.raises(kind) as raised:
        ask(server)
    assert KEY.encode() in server.asked[0]
    assert KEY not in str(raised.value)
    assert "[key]" in str(raised.value)


def completion(content="hello", **more):
    message = {"role": "assistant", "content": content}
    body = json.dumps({"choices": [{"message": message}], **more}).encode()
    return (HEAD % 200, b"\r\n" + body)


def test_a_key_that_a_model_repeats_is_in_no_record():
    answer = ask(Server(*completion(f"Your key is {KEY}.")))
    assert answer.message["content"] == "Your key is [key]."


@pytest.mark.parametrize(
    "body",
    [b"[1]", b"[" * 100_000, b'{"error": {"message": {"a": 1}, "code": {"b": 2}}}', b"\xff\xfe",
     b'{"error": ' + b"9" * 5000 + b"}", b'{"error": "\\ud800"}', b""],
    ids=range(7),
)  # fmt: skip
def test_errors_of_odd_forms(body):
    with pytest.raises(RequestRefused) as raised:
        ask(Server(HEAD % 400, b"\r\n" + body))
    str(raised.value).encode()


@pytest.mark.parametrize("count", [0, 1, -5, 2**80, 1.5, "9", None, True, float("nan")])
def test_a_server_that_counts_next_to_nothing_does_not_void_a_cap(count):
    usage = {"prompt_tokens": count, "completion_tokens": count}
    usage["prompt_tokens_details"] = {"cached_tokens": 10**30}
    reply = completion("ls " * 2000 + "\n```\nls\n```\n", usage=usage)
    with Server(*reply) as server:
        agent = ReactAgent(
            ReactConfig(
                model="m", base_url=server.url, api_key=KEY, style="text",
                caps=Caps(cost=1.0), prices={"m": Price(input=10, output=10)},
            )
        )  # fmt: skip
        with pytest.raises(AgentStopped, match="cost limit"):
            act(agent, 40)
        agent.close()
    assert 0 < agent.cost <= 1.0


def act(agent, times):
    for _ in range(times):
        agent.act(seen("x"))
