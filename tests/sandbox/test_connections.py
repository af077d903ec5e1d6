"""Connections work in a sandbox with a network of its own, and are bounded."""

from __future__ import annotations

import threading

from ludus.sandbox import Policy, open_sandbox
from tests.sandbox.support import needs

TALK = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0), backlog=128)
def serve():
    for _ in range(1500):
        one = server.accept()[0]
        one.sendall(one.recv(100) * 100)
        one.close()
thread = threading.Thread(target=serve)
thread.start()
total = 0
for _ in range(1500):
    with socket.create_connection(server.getsockname()) as one:
        one.sendall(bytes(100))
        while chunk := one.recv(1 << 16):
            total += len(chunk)
thread.join()
print(total)
"""

pytestmark = needs("bubblewrap", root=True)


def test_a_server_and_its_clients_are_left_alone():
    with open_sandbox(Policy(memory="64M", network="loopback"), backend="bubblewrap") as box:
        done = box.run(["/usr/bin/python3", "-c", TALK], timeout=60)
        assert (done.text, done.oom_killed) == ("15000000\n", False), done.error_text


def test_the_thread_that_counts_ends_with_the_last_sandbox():
    def running() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t.name == "ludus-sandbox-connections"]

    before = running()
    with open_sandbox(Policy(memory="64M", network="loopback"), backend="bubblewrap"):
        assert len(running()) == 1
    assert running() == before
