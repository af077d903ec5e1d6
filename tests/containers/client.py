"""Asks a server on this network's loopback: ``python -m tests.containers.client PORT WHAT <TOKEN``.

It runs in the network of a container, which has no other way in.
"""

from __future__ import annotations

import json
import sys
import time
from http.client import HTTPConnection
from typing import Any

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

PATIENCE = 90.0


def health(port: int) -> int:
    """Return the status of the health check, once something listens."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return ask(port, "GET", "/health")[0]
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def research(port: int, token: str) -> dict[str, Any]:
    """Return what the agent of a research task finds in its sandbox, and its first validation."""
    health(port)
    right = {"Authorization": f"Bearer {token}"}
    commands = ("id -u; cat /run/secrets/token; ls /opt/ludus/lib", {"tool": "validate"})
    with connect(f"ws://127.0.0.1:{port}/ws", additional_headers=right) as socket:
        told = [exchange(socket, {"type": "reset", "data": {"seed": 1}})]
        for action in commands:
            told.append(exchange(socket, {"type": "step", "data": {"action": action}}))
    return {"answers": told}


def environment(port: int, token: str) -> dict[str, Any]:
    """Return what the server answers with the token, without it, and with another."""
    found = health(port)
    right = {"Authorization": f"Bearer {token}"}
    wrong = {"Authorization": f"Bearer {token[:-1]}x"}
    with connect(f"ws://127.0.0.1:{port}/ws", additional_headers=right) as socket:
        episode = [exchange(socket, {"type": "reset", "data": {"seed": 7}})]
        for action in (0, 1, 1):
            episode.append(exchange(socket, {"type": "step", "data": {"action": action}}))
    try:
        connect(f"ws://127.0.0.1:{port}/ws", additional_headers=wrong).close()
        refused = 101
    except InvalidStatus as problem:
        refused = problem.response.status_code
    return {
        "health": found,
        "metrics": [ask(port, "GET", "/metrics", more)[0] for more in ({}, wrong, right)],
        "socket with another token": refused,
        "another host": ask(port, "GET", "/metrics", {**right, "Host": "example.org"})[0],
        "reset": ask(port, "POST", "/reset", right, {"seed": 7}),
        "episode": episode,
    }


def ask(port, method, path, headers=None, body=None):
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    more = {} if body is None else {"Content-Type": "application/json"}
    content = None if body is None else json.dumps(body)
    connection.request(method, path, content, {**more, **(headers or {})})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def exchange(socket, message):
    socket.send(json.dumps(message))
    return json.loads(socket.recv(timeout=90))


if __name__ == "__main__":
    asked = {"environment": environment, "research": research}[sys.argv[2]]
    print(json.dumps(asked(int(sys.argv[1]), sys.stdin.read().strip())))
