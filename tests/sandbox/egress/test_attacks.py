"""Attacks on the proxy. All servers are on the loopback of the tests."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import ExitStack, suppress

import pytest

from ludus.sandbox.egress.client_hello import NoHello, read_server_name
from tests.sandbox.egress.servers import (
    RESPONSE,
    Server,
    ask,
    client_hello,
    connect,
    connected,
    get,
    keep_all,
    proxy,
    read_all,
    serving,
    status,
)

LOCAL = "127.0.0.1"


def allowing(port: int, *more: str) -> list[str]:
    """Return rules for a.test and the server on the loopback itself."""
    return [f"a.test:{port}", f"{LOCAL}:{port}", *more]


NAMES = {"a.test": [LOCAL], "b.test": [LOCAL]}


def test_a_request_is_passed_and_told():
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        answer = ask(made, get("a.test", server.port, b"X-One: 1", b"Proxy-Authorization: x"))
        assert answer == RESPONSE
        expected = f"GET / HTTP/1.1\r\nHost: a.test:{server.port}\r\nX-One: 1\r\n"
        assert server.text == f"{expected}Connection: close\r\n\r\n".encode()
        made.close()
        (entry,) = made.log.entries()
    assert (entry.host, entry.port, entry.address) == ("a.test", server.port, LOCAL)
    assert (entry.passed, entry.reason) == (True, "")
    assert (entry.up, entry.down) == (len(server.text), len(RESPONSE))
    assert abs(entry.time - time.time()) < 60


def test_a_body_is_passed_whole():
    body = b"x" * 300_000

    def read_body(client: socket.socket, server: Server) -> None:
        while len(server.text) < 300_000 or not server.text.endswith(b"\r\n\r\n" + body):
            server.seen.append(client.recv(65536))
        client.sendall(RESPONSE)

    with serving(read_body) as server, proxy(allowing(server.port), NAMES) as made:
        head = get("a.test", server.port, b"Content-Length: 300000").replace(b"GET", b"POST")
        assert status(ask(made, head, body)) == 200
    assert server.text.endswith(b"\r\n\r\n" + body)


def test_a_tunnel_with_the_right_name_is_passed():
    hello = client_hello("a.test")
    with serving(keep_all) as server, proxy(allowing(server.port), NAMES) as made:
        with connected(made) as client:
            client.sendall(connect("a.test", server.port))
            assert status(client.recv(200)) == 200
            # The name may come in pieces.
            for at in range(0, len(hello), 100):
                client.sendall(hello[at : at + 100])
                time.sleep(0.002)
            assert client.recv(1) == b"."
        made.close()
    assert server.text == hello
    assert made.log.entries()[0].up == len(hello)


@pytest.mark.parametrize("host", ["b.test", "a.test.b.test", "aa.test", "127.0.0.2", "[::1]"])
def test_other_hosts(host):
    with serving() as server, proxy([f"a.test:{server.port}"], NAMES) as made:
        assert status(ask(made, get(host, server.port))) == 403
        assert status(ask(made, connect(host, server.port))) == 403
    assert server.connections == 0
    assert {entry.passed for entry in made.log.entries()} == {False}


def test_another_port():
    with serving() as server, serving() as other, proxy(allowing(server.port), NAMES) as made:
        assert status(ask(made, connect("a.test", other.port))) == 403
        assert status(ask(made, get("a.test", other.port))) == 403
        assert status(ask(made, get("a.test"))) == 403
    assert other.connections == server.connections == 0


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.0.0.53", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254",
     "0.0.0.0", "fe80::1", "224.0.0.1", "64:ff9b::7f00:1"],
)  # fmt: skip
def test_a_name_that_leads_to_an_address_that_is_not_public(address):
    with serving() as server, proxy([f"a.test:{server.port}"], {"a.test": [address]}) as made:
        answer = ask(made, get("a.test", server.port))
        assert status(answer) == 403
        assert b"not public" in answer
        assert status(ask(made, connect("a.test", server.port))) == 403
    assert server.connections == 0


def test_a_literal_address_is_allowed_for_its_port_only():
    with serving() as server, serving() as other:
        rules = [f"a.test:{server.port}", f"a.test:{other.port}", f"{LOCAL}:{server.port}"]
        with proxy(rules, NAMES) as made:
            assert status(ask(made, get("a.test", server.port))) == 200
            assert status(ask(made, get("a.test", other.port))) == 403
            assert status(ask(made, get(LOCAL, server.port))) == 200
    assert other.connections == 0


def test_dns_rebinding():
    """The second answer of a resolver is never asked for."""
    with serving() as server, serving(address="127.0.0.2") as inner:
        answers = iter([[LOCAL], ["127.0.0.2"], ["127.0.0.2"]])
        asked = []

        def resolve(name: str) -> list[str] | None:
            asked.append(name)
            return next(answers)

        # Only the first address is allowed; both have the same port.
        with proxy(allowing(server.port), resolve) as made:
            assert status(ask(made, get("a.test", server.port))) == 200
            assert asked == ["a.test"]
            assert status(ask(made, get("a.test", server.port))) == 403
        assert (server.connections, inner.connections) == (1, 0)


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.01", "[::ffff:127.0.0.1]",
     "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "localhost.", "a.test.", "127.0.0.1."],
)  # fmt: skip
def test_odd_spellings(host):
    names = {**NAMES, "localhost": [LOCAL]}
    with serving() as server, proxy(allowing(server.port), names) as made:
        for request in (get(host, server.port), connect(host, server.port)):
            assert status(ask(made, request)) in (400, 403)
    assert server.connections == 0


def test_user_names():
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        for target in (f"a.test@b.test:{server.port}", f"a.test:{server.port}@b.test:1",
                       f"b.test\\@a.test:{server.port}", f"a.test:{server.port}%40b"):  # fmt: skip
            for line in (f"GET http://{target}/ HTTP/1.1", f"CONNECT {target} HTTP/1.1"):
                assert status(ask(made, f"{line}\r\nHost: a.test\r\n\r\n".encode())) == 400
    assert server.connections == 0


@pytest.mark.parametrize(
    "headers",
    [
        [b"Host: b.test"], [b"Host: a.test:1"], [b"Host: a.test"],
        [b"Host: a.test:PORT", b"Host: b.test"], [b"Host : a.test:PORT"],
        [b"Host: a.test:PORT", b" b.test"], [b"Host: a.test:PORT\nHost: b.test"],
        [b"Host: a.test:PORT\rHost: b.test"], [b"Host:\0a.test:PORT"],
        [b"Host: b.test@a.test:PORT"],
    ],
)  # fmt: skip
def test_a_host_header_that_differs(headers):
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        lines = [line.replace(b"PORT", str(server.port).encode()) for line in headers]
        request = get("a.test", server.port, *lines)
        assert status(ask(made, request)) == 400
        tunnel = connect("a.test", server.port).replace(b"Host: a.test:", b"Host: b.test:")
        assert status(ask(made, tunnel)) == 400
    assert server.connections == 0


@pytest.mark.parametrize(
    "headers",
    [
        [b"Content-Length: 5", b"Content-Length: 6"], [b"Content-Length: +5"],
        [b"Content-Length: 5, 5"], [b"Content-Length: 0x5"], [b"Content-Length: -1"],
        [b"Transfer-Encoding: chunked"], [b"Transfer-Encoding: chunked", b"Content-Length: 3"],
        [b"Transfer-Encoding:\tchunked"], [b"transfer-encoding: identity, chunked"],
        [b"X: 1\r\n\tTransfer-Encoding: chunked"], [b"Content-Length : 3"], [b"X\0: 1"], [b": 1"],
    ],
)  # fmt: skip
def test_smuggling_by_lengths(headers):
    inner = b"0\r\n\r\nGET /secret HTTP/1.1\r\nHost: b.test\r\n\r\n"
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        answer = ask(made, get("a.test", server.port, *headers) + inner)
        assert status(answer) in (400, 411)
    assert server.connections == 0


def test_smuggling_behind_a_request():
    """What follows a request or its body goes nowhere: a connection carries one request."""
    port_of = b"GET /secret HTTP/1.1\r\nHost: b.test\r\n\r\n"
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        ask(made, get("a.test", server.port) + port_of)
        ask(made, get("a.test", server.port, b"Content-Length: 4") + b"body" + port_of)
        with connected(made) as client:
            client.sendall(get("a.test", server.port))
            time.sleep(0.2)
            client.sendall(port_of)
            read_all(client)
    assert server.connections == 3
    assert b"secret" not in server.text


@pytest.mark.parametrize(
    "line",
    ["GET / HTTP/1.1", "GET https://a.test/ HTTP/1.1", "GET ftp://a.test/ HTTP/1.1",
     "GET  http://a.test/ HTTP/1.1", "GET http://a.test/ HTTP/2.0", "GET http://a.test/\tHTTP/1.1",
     "GET http://a.test/ HTTP/1.1 ", "GET http:///a.test HTTP/1.1", "GET http://a.test/#x HTTP/1.1",
     "CONNECT a.test HTTP/1.1", "CONNECT http://a.test:443 HTTP/1.1", "PRI * HTTP/2.0",
     "\x16\x03\x01",
     "G\xebT http://a.test/ HTTP/1.1", ""],
)  # fmt: skip
def test_malformed_request_lines(line):
    with serving() as server, proxy(allowing(server.port, "a.test:80"), NAMES) as made:
        request = f"{line}\r\nHost: a.test\r\n\r\n".encode("latin-1")
        assert status(ask(made, request)) == 400
    assert server.connections == 0


@pytest.mark.parametrize("name", ["b.test", "127.0.0.1x.test", None])
def test_a_server_name_that_differs(name):
    """Fronting: a tunnel to an allowed host whose TLS asks the server for another site."""
    with serving(keep_all) as server, proxy(allowing(server.port), NAMES) as made:
        answer = ask(made, connect("a.test", server.port), client_hello(name))
        assert status(answer) == 200
        made.close()
        assert "server name" in made.log.entries()[0].reason
    assert server.text == b""


@pytest.mark.parametrize(
    "first",
    [b"GET /secret HTTP/1.1\r\nHost: b.test\r\n\r\n", b"SSH-2.0-x\r\n",
     b"\x16\x02\x01\x00\x05hello",
     b"\x17\x03\x03\x00\x01x", b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", b"\x16\x03\x01\xff\xff",
     b"\x16\x03\x01\x00\x04\x01\xff\xff\xff", b"\x16\x03\x01\x00\x00"],
)  # fmt: skip
def test_a_tunnel_that_carries_something_else(first):
    with serving(keep_all) as server, proxy(allowing(server.port), NAMES) as made:
        ask(made, connect("a.test", server.port), first)
        made.close()
        assert "TLS" in made.log.entries()[0].reason
    assert server.text == b""


def _with_extension(kind: int, content: bytes) -> bytes:
    extension = kind.to_bytes(2) + len(content).to_bytes(2) + content
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    body += len(extension).to_bytes(2) + extension
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message


def test_hidden_and_repeated_server_names():
    def listed(*names: bytes) -> bytes:
        items = b"".join(b"\0" + len(n).to_bytes(2) + n for n in names)
        return len(items).to_bytes(2) + items

    assert read_server_name(_with_extension(0, listed(b"a.test"))) == ("a.test",)
    for kind, content in (
        (0xFE0D, b"hidden"),
        (0, listed(b"a.test", b"b.test")),
        (0, listed(b"a.test\0.b.test")),
        (0, listed(b"a.test.")),
        (0, b"\xff\xff"),
    ):
        with pytest.raises(NoHello):
            read_server_name(_with_extension(kind, content))


def test_every_cut_and_every_changed_byte_of_a_first_message():
    hello = client_hello("a.test")
    assert read_server_name(hello) == ("a.test",)
    for length in range(len(hello)):
        assert read_server_name(hello[:length]) is None
    for at in range(len(hello)):
        changed = bytearray(hello)
        changed[at] ^= 0xFF
        try:
            read_server_name(bytes(changed))
        except NoHello:
            continue


def test_oversized_heads():
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        assert status(ask(made, get("a.test", server.port, b"X: " + b"y" * 20_000))) == 431
        assert status(ask(made, get("a.test", server.port, *[b"X: 1"] * 101))) == 431
        assert status(ask(made, get("a.test", server.port, path="/" + "y" * 20_000))) == 431
    assert server.connections == 0


def test_slow_loris():
    with serving() as server, proxy(allowing(server.port), NAMES, head=0.5, connections=4) as made:
        with ExitStack() as stack:
            slow = [stack.enter_context(connected(made)) for _ in range(4)]
            began = time.monotonic()
            ended = 0
            while ended < len(slow) and time.monotonic() - began < 5:
                for client in slow:
                    try:
                        client.sendall(b"G")
                    except OSError:
                        continue
                time.sleep(0.05)
                ended = 4 - len(made._open)
            # Each byte gives no further time.
            assert time.monotonic() - began < 3.5
        assert status(ask(made, get("a.test", server.port))) == 200
    assert {e.reason for e in made.log.entries()} >= {"the request took too long"}


def test_slow_tunnels():
    with serving(keep_all) as server, proxy(allowing(server.port), NAMES, head=0.3) as made:
        began = time.monotonic()
        ask(made, connect("a.test", server.port), client_hello("a.test")[:20])
        assert time.monotonic() - began < 3
    assert server.text == b""


def test_too_many_connections():
    with serving() as server, proxy(allowing(server.port), NAMES, connections=3) as made:
        with ExitStack() as stack:
            for _ in range(3):
                stack.enter_context(connected(made)).sendall(b"GET ")
            time.sleep(0.2)
            threads = threading.active_count()
            for _ in range(40):
                assert status(ask(made)) == 503
            assert threading.active_count() <= threads
        assert server.connections == 0


def test_the_number_of_requests():
    with serving() as server, proxy(allowing(server.port), NAMES, requests=3) as made:
        found = [status(ask(made, get("a.test", server.port))) for _ in range(5)]
    assert found == [200, 200, 200, 503, 503]
    assert server.connections == 3


def _flood(client: socket.socket, server: object) -> None:
    client.recv(65536)
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        client.sendall(b"x" * 65536)


def test_bytes_down():
    with serving(_flood) as server, proxy(allowing(server.port), NAMES, down=300_000) as made:
        answer = ask(made, get("a.test", server.port))
        assert 0 < len(answer) <= 300_000
        # Nothing is left for later connections either.
        assert len(ask(made, get("a.test", server.port))) == 0
        made.close()
        assert {e.reason for e in made.log.entries()} == {"the limit of bytes down is reached"}


def test_bytes_up():
    with serving() as server, proxy(allowing(server.port), NAMES, up=100_000) as made:
        head = get("a.test", server.port, b"Content-Length: 900000").replace(b"GET", b"POST")
        with connected(made) as client:
            with suppress(OSError):
                client.sendall(head + b"x" * 900_000)
            read_all(client)
        assert status(ask(made, get("a.test", server.port))) == 403
        made.close()
    assert len(server.text) <= 100_000
    assert sum(entry.up for entry in made.log.entries()) <= 100_000


def test_time_and_silence():
    def silent(client: socket.socket, server: object) -> None:
        client.recv(65536)
        time.sleep(3)

    def endless(client: socket.socket, server: object) -> None:
        client.recv(65536)
        while True:
            client.sendall(b"x")
            time.sleep(0.05)

    for answer, limits in ((silent, {"idle": 0.4}), (endless, {"seconds": 0.6})):
        with serving(answer) as server, proxy(allowing(server.port), NAMES, **limits) as made:
            began = time.monotonic()
            ask(made, get("a.test", server.port))
            assert time.monotonic() - began < 2.5
            made.close()
            assert made.log.entries()[0].reason in (
                "the connection was idle",
                "the connection's time is over",
            )


def test_redirects_lead_no_further_than_requests():
    """A redirect is passed as it is; whoever follows it asks the proxy again."""

    def redirect(client: socket.socket, server: object) -> None:
        client.recv(65536)
        client.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n"
            b"Content-Length: 0\r\nConnection: close\r\n\r\n"
        )

    with serving(redirect) as server, proxy(allowing(server.port), NAMES) as made:
        assert status(ask(made, get("a.test", server.port))) == 302
        assert status(ask(made, get("169.254.169.254"))) == 403


def test_upgrades_are_not_passed():
    with serving() as server, proxy(allowing(server.port), NAMES) as made:
        headers = (b"Connection: Upgrade, Host", b"Upgrade: h2c", b"TE: trailers", b"Keep-Alive: 9")
        ask(made, get("a.test", server.port, *headers))
    for word in (b"h2c", b"Upgrade", b"TE:", b"Keep-Alive"):
        assert word not in server.text
    assert server.text.count(b"Host: a.test") == 1


def test_a_closed_proxy_is_gone_and_cuts_off():
    with serving(keep_all) as server, proxy(allowing(server.port), NAMES) as made:
        client = connected(made)
        with client:
            client.sendall(connect("a.test", server.port))
            assert status(client.recv(200)) == 200
            client.sendall(client_hello("a.test"))
            assert client.recv(1) == b"."
            made.close()
            seen = len(server.text)
            assert read_all(client) == b""
            with suppress(OSError):
                client.sendall(b"more")
        with pytest.raises(ConnectionRefusedError):
            connected(made)
        time.sleep(0.1)
        assert len(server.text) == seen
    assert made.log.entries()[0].reason == "the sandbox was closed"
    assert not any(t.name.startswith("ludus-egress") for t in threading.enumerate())


def test_the_journal_is_bounded(monkeypatch):
    from ludus.sandbox.egress import journal

    monkeypatch.setattr(journal, "_MOST", 5)
    with proxy(["a.test"], {}) as made:
        for number in range(8):
            ask(made, get(f"h{number}.test"))
        made.close()
        assert len(made.log.entries()) == 5
        assert made.log.dropped == 3
    monkeypatch.setattr(journal, "_MOST_ROWS", 2)
    rows = journal.summary(made.log.entries())
    assert [row["connections"] for row in rows] == [1, 1, 3]
    assert rows[-1]["host"] == ""


def test_real_tls_through_a_tunnel(tmp_path):
    """A real handshake, with a certificate that the test makes."""
    import subprocess

    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=a.test",
         "-addext", "subjectAltName=DNS:a.test"],
        check=True, capture_output=True, timeout=30,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    def secure(client: socket.socket, server: object) -> None:
        with context.wrap_socket(client, server_side=True) as inner:
            inner.recv(4096)
            inner.sendall(RESPONSE)

    with serving(secure) as server, proxy(allowing(server.port), NAMES) as made:
        trusting = ssl.create_default_context(cafile=str(cert))
        with connected(made) as client:
            client.sendall(connect("a.test", server.port))
            assert status(client.recv(200)) == 200
            with trusting.wrap_socket(client, server_hostname="a.test") as inner:
                inner.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
                assert inner.recv(4096) == RESPONSE
