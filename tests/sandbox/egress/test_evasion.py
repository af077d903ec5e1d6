"""Attacks on what the proxy tells of a sandbox's traffic, and on the machine that it runs on."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

from ludus.sandbox.egress import exchange, journal
from tests.sandbox.egress.servers import (
    ask,
    client_hello,
    connect,
    connected,
    get,
    keep_all,
    proxy,
    serving,
    status,
)

LOCAL = "127.0.0.1"
NAMES = {"a.test": [LOCAL]}


def open_tunnel(client, port: int) -> None:
    client.sendall(connect("a.test", port))
    assert status(client.recv(200)) == 200
    client.sendall(client_hello("a.test"))
    assert client.recv(1) == b"."


def test_refusals_do_not_drive_a_transfer_out_of_the_journal(monkeypatch):
    """The transfer is begun first, and ends when the journal is full of refusals."""
    monkeypatch.setattr(journal, "_MOST", 20)
    with serving(keep_all) as server, proxy([f"a.test:{server.port}", f"{LOCAL}:{server.port}"],
                                            NAMES, requests=20) as made:  # fmt: skip
        with connected(made) as client:
            open_tunnel(client, server.port)
            for _ in range(30):
                ask(made, b"x\r\n\r\n")
        made.close()
        entries = made.log.entries()
    assert [entry.host for entry in entries if entry.passed] == ["a.test"]
    assert made.log.dropped == 10


def test_refused_hosts_do_not_hide_the_one_that_was_reached(monkeypatch):
    monkeypatch.setattr(journal, "_MOST_ROWS", 3)
    refused = [journal.EgressEntry(host=f"h{i}.test", port=1, reason="no") for i in range(9)]
    passed = journal.EgressEntry(host="a.test", port=2, passed=True, up=7)
    rows = journal.summary([*refused, passed])
    assert [row["up"] for row in rows if row["host"] == "a.test"] == [7]
    assert sum(row["connections"] for row in rows) == 10


def test_an_address_of_the_machine_itself(monkeypatch):
    """One that is public: the machine's services are no part of the public network."""
    monkeypatch.setattr(exchange, "why_not_public", lambda address: None)
    with serving() as server, proxy([f"a.test:{server.port}"], NAMES) as made:
        for request in (get("a.test", server.port), connect("a.test", server.port)):
            assert status(answer := ask(made, request)) == 403
            assert b"one of this machine" in answer
    assert server.text == b""


def test_a_flood_of_connections_costs_the_host_little():
    with proxy(["a.test"], NAMES, requests=1) as made:
        ask(made, b"x\r\n\r\n")
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            with suppress(OSError), socket.socket() as client:
                client.settimeout(0.05)
                client.connect((LOCAL, made.port))
        made.close()
        # Each that is accepted is told as one that was dropped, or as an entry.
        assert len(made.log.entries()) + made.log.dropped < 200
