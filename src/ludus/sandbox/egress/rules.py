"""The allow-list of a sandbox's egress: hosts and ports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ludus.sandbox.egress.hosts import is_address, read_host, read_port, why_not_public

__all__ = ["EgressRule", "parse_rules"]

_HTTPS = 443
_MOST = 256
_HOW = "expected HOST, HOST:PORT, *.SUFFIX or ADDRESS:PORT, such as 'pypi.org:443'"


@dataclass(frozen=True, slots=True)
class EgressRule:
    """A host that may be reached, and its port.

    Args:
        host: a name; an address; or ``*.`` and a name, for all names below that one.
        port: the only port.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: object) -> EgressRule:
        """Read ``HOST[:PORT]``; the port is 443 by default, and has to be given for an address.

        Raises:
            ValueError: it is not of that form.
        """
        if not isinstance(text, str):
            raise ValueError(f"egress has {text!r}; {_HOW}.")
        if "/" in text or "@" in text:
            raise ValueError(f"egress has {text!r}, which is a URL or a part of one; {_HOW}.")
        name, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            name, colon, port = text, "", ""
        wild, bare = name.startswith("*."), name.removeprefix("*.")
        try:
            host, number = read_host(bare), read_port(port) if colon else 0
        except ValueError as problem:
            raise ValueError(f"egress has {text!r}: {problem}; {_HOW}.") from None
        if wild and (is_address(host) or "." not in host):
            raise ValueError(
                f"egress has {text!r}, which is too wide: after '*.' a name of two or more parts "
                "is expected, such as '*.pythonhosted.org'."
            )
        if not number and is_address(host):
            raise ValueError(f"egress has {text!r}, an address without a port; say {text}:PORT.")
        return cls(f"*.{host}" if wild else host, number or _HTTPS)

    def matches(self, host: str, port: int) -> bool:
        """Return whether it allows a host, as :func:`read_host` returns it."""
        if port != self.port:
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and not is_address(host)
        return host == self.host

    @property
    def is_public(self) -> bool:
        """Whether it names no address that is private, loopback, link-local and the like."""
        return not is_address(self.host) or why_not_public(self.host.strip("[]")) is None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_rules(texts: Iterable[object]) -> tuple[EgressRule, ...]:
    """Read an allow-list.

    Raises:
        ValueError: it is a single text, is too long, or has an entry that is no rule.
    """
    if isinstance(texts, str):
        raise ValueError(f"egress is {texts!r}; expected a list of texts, such as ('pypi.org',).")
    rules = tuple(dict.fromkeys(EgressRule.parse(text) for text in texts))
    if len(rules) > _MOST:
        raise ValueError(f"egress has {len(rules)} entries; at most {_MOST} are allowed.")
    return rules
