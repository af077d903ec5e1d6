"""A model's server for tests and demonstrations: local, deterministic, and able to fail on purpose.

It speaks as much of OpenAI's HTTP interface as an agent needs. What it says is decided by a policy:
a function from a request to a reaction. ::

    policy = in_order([Call("shell", {"command": "ls"}), Fail(500), Say("done")])
    with ModelServer(policy) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="unused")
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from ludus.research.model_server.policies import (
    Break,
    Call,
    ChatRequest,
    Fail,
    Policy,
    Raw,
    Reaction,
    Say,
    Slow,
    count_tokens,
)

__all__ = ["ModelServer"]

MAX_REQUEST_BYTES = 2**25
MODEL = "ludus-scripted"


class ModelServer:
    """The server; a context manager that owns its port and its threads.

    Args:
        policy: Chooses the reactions.
        context_tokens: Longer prompts are refused; ``None`` for no limit.
        model: The name of its model.
    """

    def __init__(
        self, policy: Policy, *, context_tokens: int | None = None, model: str = MODEL
    ) -> None:
        self.policy = policy
        self.context_tokens = context_tokens
        self.model = model
        self.requests: list[ChatRequest] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """What clients are given.

        Raises:
            RuntimeError: The server does not run.
        """
        if self._http is None:
            raise RuntimeError("The model server does not run; use it in a with statement.")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> Self:
        """Listen on a free port of this machine alone."""
        self._closing.clear()
        self._http = _Server(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening and end every answer under way; again is allowed."""
        self._closing.set()
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()
        self._http = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def react(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Reaction:
        """Return the reaction to a request, after any slowness."""
        with self._lock:
            request = ChatRequest(len(self.requests), body, headers)
            self.requests.append(request)
            if self.context_tokens is not None and request.tokens > self.context_tokens:
                text = f"maximum context length is {self.context_tokens}, got {request.tokens}"
                return Fail(400, text, "context_length_exceeded")
            try:
                reaction = self.policy(request)
            except Exception as problem:  # the policy's, which its author should get to see
                return Fail(500, f"the policy raised {problem!r}")
        while isinstance(reaction, Slow):
            self._closing.wait(reaction.seconds)
            reaction = reaction.then
        return reaction


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Closing must not wait for clients that keep their connections open.
    block_on_close = False

    def __init__(self, owner: ModelServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let clients go that hang up; they are part of what is tried out."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together; apart, the second waits 40 ms for the first one's receipt.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            self._refuse(Fail(404, f"there is no {self.path[:80]}"))
            return
        model = {
            "id": self.server.owner.model,
            "object": "model",
            "created": 0,
            "owned_by": "ludus",
        }
        self._send(200, {"object": "list", "data": [model]})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_REQUEST_BYTES:
            self.close_connection = True
            self._refuse(Fail(413, "the request has no length, or is too long"))
            return
        raw = self.rfile.read(int(length))
        if self.path != "/v1/chat/completions":
            self._refuse(Fail(404, f"there is no {self.path[:80]}"))
            return
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or not are_messages(body.get("messages")):
            self._refuse(Fail(400, "the request is no JSON object with messages"))
            return
        self._answer(body)

    def _answer(self, body: Mapping[str, Any]) -> None:
        owner = self.server.owner
        reaction = owner.react(body, {k.lower(): v for k, v in self.headers.items()})
        if isinstance(reaction, Fail):
            self._refuse(reaction)
        elif isinstance(reaction, Raw):
            self._send(200, reaction.body)
        elif isinstance(reaction, Break):
            self._break_off(reaction)
        elif isinstance(reaction, Say | Call):
            whole = completion(reaction, body, owner.model)
            if body.get("stream"):
                self._stream(whole)
            else:
                self._send(200, whole)

    def _refuse(self, fault: Fail) -> None:
        error = {"message": fault.message, "type": "error", "param": None, "code": fault.code}
        extra = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
        self._send(fault.status, {"error": error}, extra)

    def _send(self, status: int, body: Any, extra: Mapping[str, str] | None = None) -> None:
        self._head(status, json.dumps(body).encode(), extra or {})

    def _head(self, status: int, raw: bytes, extra: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **extra}.items():
            self.send_header(name, value)
        if "Content-Length" not in extra:
            self.send_header("Content-Length", str(len(raw)))
        if self.close_connection:  # said, or a client might send its next request into it
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)

    def _break_off(self, fault: Break) -> None:
        raw = b'{"id": "x", "choices": [{"index": 0, "message": {"role": "assi'
        self.close_connection = True
        if fault.how == "truncated":
            self._head(200, raw, {})
        elif fault.how == "short":
            self._head(200, raw, {"Content-Length": str(len(raw) + 100)})

    def _stream(self, whole: Mapping[str, Any]) -> None:
        """Send the answer as server-sent events, a few characters each."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks(whole):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *arguments: Any) -> None:
        """Say nothing; the requests are kept by the server."""


PIECE = 16
"""Characters of a text that are sent at once."""


def are_messages(messages: Any) -> bool:
    """Whether these are messages of a conversation, as far as the server reads them."""
    return isinstance(messages, list) and all(isinstance(message, dict) for message in messages)


def completion(reaction: Say | Call, body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the body of an answer to the request's body."""
    message: dict[str, Any] = {"role": "assistant", "content": reaction.text}
    reason = "tool_calls"
    if isinstance(reaction, Call):
        arguments = reaction.arguments
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": reaction.tool, "arguments": text}
        step = sum(m.get("role") == "assistant" for m in body["messages"])
        message["tool_calls"] = [{"id": f"call_{step}", "type": "function", "function": function}]
    else:
        reason = reaction.finish_reason
    prompt = count_tokens(body["messages"])
    reply = count_tokens(message)
    return {
        "id": "chatcmpl-ludus",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": reply,
            "total_tokens": prompt + reply,
        },
    }


def chunks(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a completion in pieces, as a stream has them; the last one has the usage."""
    head = {key: whole[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    choice = whole["choices"][0]
    for delta in _deltas(choice["message"]):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [last]}
    yield {**head, "choices": [], "usage": whole["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(message["content"]):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{**call, "index": index, "function": function}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
