"""Egress of real sandboxes: programs inside, the proxy outside, servers on the host's loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time

import pytest

from ludus.errors import PolicyNotEnforceable
from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.egress.proxy import PORT
from ludus.sandbox.opening import BACKENDS, backend_class
from tests.sandbox.egress.servers import RESPONSE, serving
from tests.sandbox.support import needs
from tests.sandbox.test_without_root import AS_USER, program

pytestmark = needs("bubblewrap")
LOCAL = "127.0.0.1"
ROOT = os.geteuid() == 0
FREE = {} if ROOT else {"memory": None, "cpus": None}

FETCH = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode(), end="")
except Exception as problem:
    print(type(problem).__name__, getattr(problem, "code", ""), problem)
"""


def fetch(sandbox, url: str) -> str:
    return sandbox.run(["python3", "-c", FETCH, url], timeout=20).text


def test_programs_reach_what_is_allowed_and_nothing_else():
    with (
        serving() as server,
        serving() as other,
        open_sandbox(Policy(egress=[f"{LOCAL}:{server.port}"], **FREE)) as sandbox,
    ):
        assert fetch(sandbox, f"http://{LOCAL}:{server.port}/") == "hello\n"
        assert "403" in fetch(sandbox, f"http://{LOCAL}:{other.port}/")
        assert "403" in fetch(sandbox, "http://example.org/")
        with sandbox.shell() as shell:
            told = shell.run('echo "$HTTPS_PROXY $http_proxy $ALL_PROXY"').text.split()
        assert told == [f"http://{LOCAL}:{PORT}"] * 3
        sandbox.close()
        rows = [(e.port, e.passed) for e in sandbox.egress.entries()]
    assert rows == [(server.port, True), (other.port, False), (80, False)]
    assert other.connections == 0


def test_it_is_off_by_default():
    with open_sandbox(Policy(network="loopback", **FREE)) as sandbox:
        assert sandbox.egress is None
        script = f"import socket; socket.create_connection(('127.0.0.1', {PORT}), 2)"
        assert "refused" in sandbox.run(["python3", "-c", script], timeout=10).error_text
        assert "proxy" not in sandbox.run(["env"]).text.lower()


BYPASS = """
import socket, sys
host, port = sys.argv[1], int(sys.argv[2])
for family, place in ((socket.AF_INET, (host, port)), (socket.AF_INET, ("10.0.0.1", 80)),
                      (socket.AF_INET, ("169.254.169.254", 80)), (socket.AF_INET, ("8.8.8.8", 53)),
                      (socket.AF_INET6, ("::1", port)), (socket.AF_INET6, ("2001:4860::8888", 53))):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(family, kind) as made:
                made.settimeout(2)
                made.connect(place)
                if kind == socket.SOCK_DGRAM and place[0] not in ("::1", host):
                    made.send(b"x")
                if kind == socket.SOCK_STREAM:
                    print("connected", place)
        except OSError as problem:
            continue
        if kind == socket.SOCK_DGRAM and place[0] not in ("::1", host):
            print("sent", place)
for family in (socket.AF_NETLINK, socket.AF_PACKET, getattr(socket, "AF_VSOCK", 40)):
    for kind in (socket.SOCK_RAW, socket.SOCK_STREAM):
        try:
            socket.socket(family, kind).close()
            if family != socket.AF_NETLINK:
                print("family", family)
        except OSError:
            pass
"""


def test_there_is_no_way_past_the_proxy():
    """The host's loopback, other networks, other families of sockets: none is there."""
    with (
        serving() as server,
        open_sandbox(Policy(egress=[f"{LOCAL}:{server.port}"], **FREE)) as sandbox,
    ):
        done = sandbox.run(["python3", "-c", BYPASS, LOCAL, str(server.port)], timeout=60)
        assert done.text == "", done.text
        routes = sandbox.run(["cat", "/proc/net/route"]).text.splitlines()
        assert len(routes) <= 1
    assert server.connections == 0


def test_two_sandboxes_have_a_proxy_each():
    with (
        serving() as server,
        open_sandbox(Policy(egress=[f"{LOCAL}:{server.port}"], **FREE)) as first,
        open_sandbox(Policy(egress=["example.org"], **FREE)) as second,
    ):
        assert fetch(first, f"http://{LOCAL}:{server.port}/") == "hello\n"
        variables = {"no_proxy": "", "NO_PROXY": ""}
        script = ["python3", "-c", FETCH, f"http://{LOCAL}:{server.port}/"]
        assert "403" in second.run(script, env=variables, timeout=20).text
    assert server.connections == 1


def test_a_process_that_keeps_its_connection_loses_it_with_its_command():
    """A daemon with a descriptor of a tunnel ends with its command, and the tunnel with it."""
    ended = threading.Event()

    def hold(client: socket.socket, server: object) -> None:
        client.recv(65536)
        client.sendall(RESPONSE[:40])
        client.settimeout(20)
        while client.recv(4096):
            pass
        ended.set()

    daemon = """
import os, socket, sys, time
made = socket.create_connection(("127.0.0.1", 3128))
port = sys.argv[1]
here = f"127.0.0.1:{port}"
made.sendall(f"GET http://{here}/ HTTP/1.1\\r\\nHost: {here}\\r\\n\\r\\n".encode())
made.recv(100)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            made.recv(100)
            time.sleep(0.01)
    os._exit(0)
print("left")
"""
    with (
        serving(hold) as server,
        open_sandbox(Policy(egress=[f"{LOCAL}:{server.port}"], **FREE)) as sandbox,
    ):
        assert sandbox.run(["python3", "-c", daemon, str(server.port)], timeout=10).text == "left\n"
        sandbox.close()
        assert ended.wait(5)
        assert sandbox.egress.entries()[0].passed


def test_the_proxy_is_gone_with_its_sandbox():
    with serving() as server:
        sandbox = open_sandbox(Policy(egress=[f"{LOCAL}:{server.port}"], **FREE))
        listener = sandbox._proxy._listener
        sandbox.close()
        assert listener.fileno() == -1
        assert not any(t.name.startswith("ludus-egress") for t in threading.enumerate())
        sandbox = open_sandbox(Policy(egress=["example.org"], wall=0.5, **FREE))
        time.sleep(1.0)
        assert sandbox._proxy._listener.fileno() == -1
        sandbox.close()


def test_taking_the_port_of_the_proxy():
    """The port is taken before any program runs; a second listener gets none of its clients."""
    script = f"""
import socket
for address in ("127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"):
    for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        try:
            if option:
                made.setsockopt(socket.SOL_SOCKET, option, 1)
            made.bind((address, {PORT}))
            made.listen()
            print("bound", address, option)
        except OSError:
            pass
"""
    with open_sandbox(Policy(egress=["example.org"], **FREE)) as sandbox:
        assert sandbox.run(["python3", "-c", script], timeout=10).text == ""


def test_many_idle_connections_are_bounded():
    """A sandbox that opens connections without end costs the host a few threads only."""
    script = f"""
import socket, time
made = []
for _ in range(400):
    try:
        made.append(socket.create_connection(("127.0.0.1", {PORT}), 1))
    except OSError:
        break
time.sleep(0.5)
print(len(made))
"""
    with open_sandbox(Policy(egress=["example.org"], **FREE)) as sandbox:
        before = threading.active_count()
        most = 0
        job = sandbox.spawn(["python3", "-c", script])
        until = time.monotonic() + 10
        while job.poll() is None and time.monotonic() < until:
            most = max(most, threading.active_count())
            time.sleep(0.01)
        job.close()
        assert most - before <= 34
        assert fetch(sandbox, "http://example.net/").startswith("HTTPError 403")


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "bubblewrap"])
def test_other_backends_refuse(backend):
    chosen = backend_class(backend)
    assert not chosen.has_egress
    with pytest.raises(PolicyNotEnforceable, match="bubblewrap") as caught:
        chosen(Policy(egress=["pypi.org"], memory=None, cpus=None, pids=None))
    assert caught.value.reasons.keys() == {"egress"}


@pytest.mark.skipif(not ROOT, reason="starts a program as another user")
def test_without_root():
    with serving() as server:
        script = f"""
from ludus.sandbox import Policy
policy = Policy(memory=None, cpus=None, egress=["127.0.0.1:{server.port}"])
with open_sandbox(policy, backend="bubblewrap") as sandbox:
    url = "http://127.0.0.1:{server.port}/"
    done = sandbox.run(["python3", "-c", {FETCH!r}, url], timeout=20)
    assert done.text == "hello\\n", (done.text, done.error_text)
    done = sandbox.run(["python3", "-c", {FETCH!r}, "http://example.org/"], timeout=20)
    assert "403" in done.text, done.text
    assert [e.passed for e in sandbox.egress.entries()] == [True, False]
"""
        done = subprocess.run(
            program(script), **AS_USER, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
