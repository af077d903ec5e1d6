"""Settings of ``ludus mcp``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.errors import ServeError
from ludus.serve.settings import ServeSettings

__all__ = ["McpSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """What ``ludus mcp`` serves.

    Attributes:
        name: An environment's id, or ``research/NAME``.
        kwargs: Arguments of ``make``.
        rewards: Whether results tell the agent rewards and flags.
        seed: Of the episode of a connection over stdio.
        states: Folder of saved states.
        agent: Where the agent's server listens, the limits of episodes, and the folder of records.
            Over stdio it does not listen.
        operator: Where the operator's server listens, if there is one.

    Raises:
        ServeError: The operator's server has no token.
    """

    name: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    rewards: bool = False
    seed: int | None = None
    states: Path = Path("mcp-states")
    agent: ServeSettings = field(default_factory=ServeSettings)
    operator: ServeSettings | None = None

    def __post_init__(self) -> None:
        if self.operator is not None and self.operator.token is None:
            raise ServeError(
                "The operator's server needs a token: an agent on this machine could reach it."
            )
