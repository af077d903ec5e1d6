"""Trust levels: which environments require a sandbox.

Environments of Ludus run without a sandbox, and so do plugins, unless ``LUDUS_TRUST=strict``.
Environments that are registered as untrusted run only in a sandbox.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ludus.core.spec import EnvSpec
from ludus.errors import Error, UntrustedEnv
from ludus.registration.discovery import OWN, plugin_namespaces, root_packages
from ludus.registration.lookup import find_known, find_spec
from ludus.registration.table import explain_missing

if TYPE_CHECKING:
    from ludus.untrusted.options import Sandboxing

__all__ = ["decide"]

_LEVELS = ("", "default", "strict")


def decide(
    wanted: str | EnvSpec, sandbox: Sandboxing | None
) -> tuple[str, EnvSpec | None, Sandboxing | None]:
    """Return the id, its spec, and the sandbox options or ``None``.

    The lookup imports third-party code only for an environment that runs without a sandbox. The
    spec of a sandboxed environment is ``None`` if it cannot be found otherwise.

    Raises:
        UntrustedEnv: The environment requires a sandbox.
        Error: There is no such environment.
    """
    env_id = wanted.id if isinstance(wanted, EnvSpec) else wanted
    if isinstance(wanted, EnvSpec):
        spec: EnvSpec | None = wanted
    elif _is_strict() or sandbox:
        spec = find_known(wanted)
    else:
        spec = find_spec(wanted)
    if spec is None:
        _check_could_exist(env_id)
    trust = "plugin" if spec is None else spec.security.trust
    if sandbox is None:
        # The spec of a sandboxed environment records its options, so that make(spec) reuses them.
        recorded = None if spec is None else spec.kwargs.get("sandbox")
        sandbox = recorded or (trust != "builtin" and _is_strict()) or None
    needs_sandbox = trust == "untrusted" or (trust == "plugin" and _is_strict())
    if needs_sandbox and not sandbox:
        why = "it is registered as untrusted" if trust == "untrusted" else "LUDUS_TRUST is strict"
        raise UntrustedEnv(
            f"{env_id} requires a sandbox: {why}. Use make({env_id!r}, sandbox=True), or see "
            "`ludus sandbox doctor` if no sandbox backend works."
        )
    if needs_sandbox and _isolates_nothing(sandbox):
        raise UntrustedEnv(f"{env_id} requires a sandbox; the 'process' backend does not isolate.")
    return env_id, spec, sandbox or None


def _is_strict() -> bool:
    level = os.environ.get("LUDUS_TRUST", "").lower()
    if level not in _LEVELS:
        raise Error(f"LUDUS_TRUST is {level!r}; expected 'default' or 'strict'.")
    return level == "strict"


def _isolates_nothing(sandbox: Sandboxing | None) -> bool:
    return "process" in (sandbox, getattr(sandbox, "backend", None))


def _check_could_exist(env_id: str) -> None:
    """Raise an error for an id that no plugin declares, without starting a sandbox."""
    if ":" in env_id:
        return
    announced = plugin_namespaces()
    ns, slash, _ = env_id.partition("/")
    if not slash or ns in OWN or ns not in announced:
        raise explain_missing(
            env_id, plugin_namespaces=announced, root_packages=() if slash else root_packages()
        )
