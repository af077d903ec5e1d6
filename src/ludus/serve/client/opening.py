"""The declaration of a server's environment, checked, and its spec."""

from __future__ import annotations

import dataclasses
import ssl
from dataclasses import dataclass, field
from typing import Any

from ludus.core.spec import SecuritySpec
from ludus.serve.binary.frames import PROTOCOL
from ludus.serve.binary.space_forms import research_space
from ludus.serve.client.link import Link
from ludus.spaces import Discrete
from ludus.spaces.serialization import to_dict
from ludus.untrusted.validate.declaration import Declaration, read_declaration

__all__ = ["Remote", "declared_by"]


_SPACES = ("observation_space", "action_space")
_NOTHING = to_dict(Discrete(1))


@dataclass(frozen=True)
class Remote:
    """Opens the same environment once more: the entry point of its spec.

    So ``ludus.make(env.spec)`` and ``ludus.make_vec(env.spec, n)`` connect to the server too.
    """

    url: str
    id: str | None
    token: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    metadata: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, num_envs: int | None = None, **kwargs: Any) -> Any:
        """Connect."""
        # Imported here, because it makes the environments whose specs have this.
        from ludus.serve.client.connect import connect

        own: dict[str, Any] = {"token": self.token, "timeout": self.timeout, "tls": self.tls}
        return connect(self.url, self.id, num_envs=num_envs, **own, **kwargs)


def declared_by(link: Link, remote: Remote, num_envs: int | None = None) -> Declaration:
    """Return the declaration that a server sent, checked like that of a sandbox.

    Raises:
        ServerViolation: It is invalid, for instance because building its spaces would fill the
            memory.
    """
    told: Any = link.declared
    try:
        if type(told) is not dict or told.get("protocol") != PROTOCOL:
            raise ValueError(f"a declaration of {PROTOCOL} was expected")
        spec = told.get("spec")
        wanted = spec.get("id") if type(spec) is dict else None
        if type(wanted) is not str:
            raise ValueError("a declaration has a spec with an id")
        own = {name: research_space(told.get(name)) for name in _SPACES}
        # Their description is checked like any other; that of research tasks names them only.
        plain = told | {name: _NOTHING for name, space in own.items() if space is not None}
        declared = read_declaration(plain, spec=None, wanted=wanted, num_envs=num_envs)
        named: dict[str, Any] = {name: space for name, space in own.items() if space is not None}
        declared = dataclasses.replace(declared, **named)
    except (ValueError, TypeError, RecursionError) as problem:
        link.connection.violate(f"the declaration is invalid: {problem}")
    name = told.get("served")
    opener = dataclasses.replace(
        remote, id=name if type(name) is str else remote.id, metadata=declared.metadata
    )
    spec = dataclasses.replace(
        declared.spec,
        entry_point=opener,
        vector_entry_point=opener,
        kwargs={},
        disable_env_checker=True,
        # The environment's code runs elsewhere; what runs here is Ludus's, and uses the network.
        security=SecuritySpec(network="host"),
    )
    return dataclasses.replace(declared, spec=spec)
