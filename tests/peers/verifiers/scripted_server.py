"""A server with OpenAI's chat completions on loopback, whose model gives scripted replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Model = Callable[[list[dict[str, Any]]], str]


def script(replies: Sequence[str]) -> Model:
    """Return a model whose n-th reply of a conversation is the n-th text, then the last one."""

    def reply(messages: list[dict[str, Any]]) -> str:
        turn = sum(message["role"] == "assistant" for message in messages)
        return replies[min(turn, len(replies) - 1)]

    return reply


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": body["model"]}


USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _whole(body: dict[str, Any], text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": USAGE}


def _stream(body: dict[str, Any], text: str) -> bytes:
    head = _head(body, "chat.completion.chunk")
    deltas = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": text}, None),
        ({}, "stop"),
    ]
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    chunks.append({**head, "choices": [], "usage": USAGE})
    events = [*map(json.dumps, chunks), "[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


@contextmanager
def serving(model: Model) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve a model; yields the base URL and the list of requests so far."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            text = model(body["messages"])
            streams = body.get("stream", False)
            sent = _stream(body, text) if streams else json.dumps(_whole(body, text)).encode()
            self.send_response(200)
            kind = "text/event-stream" if streams else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
