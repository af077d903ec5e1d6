"""Settings of ``ludus mcp``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.errors import ServeError
from ludus.serve.limits import Limits

__all__ = ["Listener", "McpSettings"]

_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Where one of the two servers listens, and who may ask.

    Attributes:
        host: Address to listen on.
        port: 0 takes a free one.
        token: Secret that requests must have as ``Authorization: Bearer``; ``None`` for anyone on
            this machine.
        names: Host names, besides this machine's, under which it is reached.

    Raises:
        ServeError: The address can be reached from other machines and there is no token, or the
            token is too short.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ServeError(
                f"{self.host} can be reached from other machines. Set a token with --token, or "
                "listen on 127.0.0.1."
            )
        if self.token is not None and len(self.token) < _SHORTEST_TOKEN:
            raise ServeError(
                f"The token has {len(self.token)} characters; at least {_SHORTEST_TOKEN} are "
                "needed, so that it cannot be guessed."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """What ``ludus mcp`` serves.

    Attributes:
        name: An environment's id, or ``research/NAME``.
        kwargs: Arguments of ``make``.
        rewards: Whether results tell the agent rewards and flags.
        seed: Of the episode of a connection over stdio.
        limits: Of the episodes.
        states: Folder of saved states.
        agent: Where the agent's server listens; over stdio it does not.
        operator: Where the operator's server listens, if there is one; it has a token.
    """

    name: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    rewards: bool = False
    seed: int | None = None
    limits: Limits = field(default_factory=Limits)
    states: Path = Path("states")
    agent: Listener = field(default_factory=Listener)
    operator: Listener | None = None

    def __post_init__(self) -> None:
        if self.operator is not None and self.operator.token is None:
            raise ServeError(
                "The operator's server needs a token: an agent on this machine could reach it."
            )


def is_loopback(host: str) -> bool:
    """Whether a host, without its port, is this machine by definition."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
