"""Reads the head of a request to the proxy, strictly: what could be read in two ways is refused.

A connection carries one request. A body has a ``Content-Length``; other encodings are refused, so
that nothing can follow the body. Together this leaves no room for a second, smuggled request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ludus.sandbox.egress.hosts import read_host, read_port

__all__ = ["HEAD_LIMIT", "ProxyRequest", "Refused", "read_request"]

HEAD_LIMIT = 16 << 10
"""Bytes of a request without its body."""

_MOST_HEADERS = 100
_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_LENGTH = re.compile(rb"[0-9]{1,15}")
# For one hop only, or for the proxy; the proxy writes those itself that the next hop needs.
_DROPPED = frozenset(
    b"connection host keep-alive proxy-authenticate proxy-authorization proxy-connection te "
    b"trailer upgrade".split()
)
_HTTP = 80


class Refused(Exception):
    """A request that is not passed on.

    Attributes:
        status: of the answer.
        reason: for the client and the journal; holds nothing that the client sent.
        host: what was asked for, if that is known.
        port: likewise.
    """

    def __init__(self, status: int, reason: str, host: str = "", port: int = 0) -> None:
        super().__init__(reason)
        self.status, self.reason, self.host, self.port = status, reason, host, port


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request as it is passed on.

    Attributes:
        host: as :func:`read_host` returns it.
        port: its port.
        is_tunnel: whether it is a CONNECT.
        head: what is sent to the host; empty for a tunnel.
        body: how many bytes follow.
    """

    host: str
    port: int
    is_tunnel: bool
    head: bytes = b""
    body: int = 0


def read_request(data: bytes) -> ProxyRequest:
    """Read a head up to and with the empty line at its end.

    Raises:
        Refused: it is malformed, ambiguous, or asks for something else than a proxy's service.
    """
    first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if not (line := _LINE.fullmatch(first)):
        raise Refused(400, "the request line is malformed")
    if len(lines) > _MOST_HEADERS:
        raise Refused(431, "there are too many headers")
    found = [_HEADER.fullmatch(one) for one in lines]
    if not all(found):
        raise Refused(400, "a header is malformed")
    headers = [(one[1].lower(), one[2].strip()) for one in found if one]
    method, target = line[1], line[2].decode("ascii")
    if method == b"CONNECT":
        host, port = _authority(target, None)
        _check_host(headers, host, port, tunnel=True)
        if _body(headers, host, port):
            raise Refused(400, "CONNECT has a body", host, port)
        return ProxyRequest(host, port, is_tunnel=True)
    host, port, path = _absolute(target)
    _check_host(headers, host, port, tunnel=False, required=line[3] == b"1")
    body = _body(headers, host, port)
    name = host if port == _HTTP else f"{host}:{port}"
    kept = (one.group(0) for one in found if one and one[1].lower() not in _DROPPED)
    made = [method + f" {path} HTTP/1.1".encode(), f"Host: {name}".encode(), *kept]
    head = b"\r\n".join([*made, b"Connection: close", b"", b""])
    return ProxyRequest(host, port, is_tunnel=False, head=head, body=body)


def _absolute(target: str) -> tuple[str, int, str]:
    scheme, mark, rest = target.partition("://")
    if not mark or scheme.lower() != "http":
        what = "is no absolute http:// address; https goes by CONNECT"
        raise Refused(400, f"the target {what}")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(authority) :]
    if "#" in path:
        raise Refused(400, "the target has a fragment")
    host, port = _authority(authority, _HTTP)
    return host, port, path if path.startswith("/") else f"/{path}"


def _authority(text: str, default: int | None) -> tuple[str, int]:
    if "@" in text:
        raise Refused(400, "the target has a user name in front of its host")
    name, colon, digits = text.rpartition(":")
    if not colon or text.endswith("]"):
        if default is None:
            raise Refused(400, "the target has no port")
        name, digits = text, str(default)
    try:
        return read_host(name), read_port(digits)
    except ValueError:
        raise Refused(400, "the target's host or port is not spelt in the usual way") from None


def _check_host(
    headers: list[tuple[bytes, bytes]],
    host: str,
    port: int,
    *,
    tunnel: bool,
    required: bool = False,
) -> None:
    """Refuse a Host header that differs from the target, by which servers tell sites apart."""
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (required and not hosts):
        raise Refused(400, "there is not one Host header", host, port)
    for value in hosts:
        try:
            same = _authority(value.decode("ascii"), port if tunnel else _HTTP) == (host, port)
        except (Refused, UnicodeDecodeError):
            same = False
        if not same:
            raise Refused(400, "the Host header differs from the target", host, port)


def _body(headers: list[tuple[bytes, bytes]], host: str, port: int) -> int:
    if any(name == b"transfer-encoding" for name, _ in headers):
        raise Refused(411, "a body needs a Content-Length; encodings are not passed", host, port)
    lengths = [value for name, value in headers if name == b"content-length"]
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise Refused(400, "the Content-Length is malformed", host, port)
    return int(lengths[0]) if lengths else 0
