"""Names and addresses of hosts: one spelling for each, and which addresses are public.

A host that is spelt in any other way than the usual one is refused: addresses as one number, in
octal or in hexadecimal, with fewer parts or with a zone, names with a trailing dot or with other
than ASCII letters. What is matched against the rules is thus exactly what is resolved.
"""

from __future__ import annotations

import ipaddress
import re

__all__ = ["is_address", "read_host", "read_port", "why_not_public"]

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LONGEST = 253
# Servers for the machines of a cloud that are asked by public addresses.
_METADATA = frozenset({"168.63.129.16"})
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def read_host(text: str) -> str:
    """Return a name in lower case, or an address as it is usually written; IPv6 in brackets.

    Raises:
        ValueError: it is neither, or is spelt in an unusual way.
    """
    if text.startswith("[") and text.endswith("]"):
        inside = text[1:-1]
        if "%" in inside:
            raise ValueError("an address with a zone")
        return f"[{ipaddress.IPv6Address(inside).compressed}]"
    name = text.lower() if text.isascii() else ""
    labels = name.split(".")
    if len(name) > _LONGEST or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("not the name of a host")
    # Where the last part is a number, programs take the whole for an address, in many spellings.
    if _NUMERIC.fullmatch(labels[-1]):
        return str(ipaddress.IPv4Address(name))
    return name


def read_port(text: str) -> int:
    """Return a port.

    Raises:
        ValueError: it is none, or has leading zeros or a sign.
    """
    if not _PORT.fullmatch(text) or int(text) > 0xFFFF:
        raise ValueError("not a port")
    return int(text)


def is_address(host: str) -> bool:
    """Return whether a host that :func:`read_host` returned is an address."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def why_not_public(address: str) -> str | None:
    """Return why an address, as the resolver gives it, is not one of the public network."""
    found: _Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        elif found in _NAT64:
            found = ipaddress.IPv4Address(found.packed[-4:])
        elif found.sixtofour is not None or found.teredo is not None:
            return "a tunnel"
    if str(found) in _METADATA:
        return "a metadata server"
    kinds = ("loopback", "link_local", "multicast", "unspecified", "private", "reserved")
    for kind in kinds:
        if getattr(found, f"is_{kind}"):
            return kind.replace("_", "-")
    return None if found.is_global else "not global"
