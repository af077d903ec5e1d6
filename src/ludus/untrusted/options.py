"""Options of a sandboxed environment: limits, backend, timeouts."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ludus.codec import INFO_LIMITS, DecodeLimits
from ludus.sandbox.opening import BACKENDS
from ludus.sandbox.policy import Policy
from ludus.spaces.cost import SPACE_LIMITS, SpaceLimits

__all__ = ["SandboxOptions", "Sandboxing", "sandbox_options"]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """Options for ``make(..., sandbox=SandboxOptions(...))``.

    Args:
        policy: limits of the sandbox; by default what the environment's spec declares.
        backend: a backend of ``open_sandbox``; by default the first isolating one that works.
        cpu: processor to which the sandbox is pinned. Fastest if the caller is pinned to another
            one (``os.sched_setaffinity``), since both sides spin before they sleep. A process with
            only this processor shares it with the sandbox.
        share_memory: ``False`` sends everything through pipes.
        start_timeout: seconds until the environment must be built, imports included.
        step_timeout: seconds each later call may take.
        reward_range: lowest and highest reward; infinite and undefined ones never pass.
        rounding_steps: how many floating-point numbers beyond a bound of the declared Box an
            observation may be; it is set to the bound then. By default an observation that is
            outside by as little as one rounding step is refused, and the error says so.
        infos: how large infos may be.
        frame_bytes: how large what ``render`` returns may be.
        state_bytes: how large a saved state may be.
        spaces: what the declared spaces may cost the host that samples or flattens them.

    Raises:
        ValueError: a field is out of range; the message names it.
    """

    policy: Policy | None = None
    backend: str | None = None
    cpu: int | None = None
    share_memory: bool = True
    start_timeout: float = 60.0
    step_timeout: float = 10.0
    reward_range: tuple[float, float] = (-math.inf, math.inf)
    rounding_steps: int = 0
    infos: DecodeLimits = INFO_LIMITS
    frame_bytes: int = 64 * _MIB
    state_bytes: int = 64 * _MIB
    spaces: SpaceLimits = SPACE_LIMITS

    def __post_init__(self) -> None:
        if self.policy is not None and not isinstance(self.policy, Policy):
            raise ValueError(f"SandboxOptions.policy is {self.policy!r}; expected a Policy.")
        if self.backend is not None and self.backend not in BACKENDS:
            raise ValueError(
                f"SandboxOptions.backend is {self.backend!r}; "
                f"expected one of {', '.join(BACKENDS)}."
            )
        for name in ("start_timeout", "step_timeout"):
            seconds = getattr(self, name)
            if not isinstance(seconds, int | float) or not 0 < seconds <= 1e6:
                raise ValueError(f"SandboxOptions.{name} is {seconds!r}; expected seconds above 0.")
        for name in ("frame_bytes", "state_bytes"):
            size = getattr(self, name)
            if not isinstance(size, int) or not 0 <= size <= 1 << 31:
                raise ValueError(f"SandboxOptions.{name} is {size!r}; expected 0 to 2 GiB.")
        if type(self.rounding_steps) is not int or not 0 <= self.rounding_steps <= 16:
            raise ValueError(
                f"SandboxOptions.rounding_steps is {self.rounding_steps!r}; expected 0 to 16."
            )
        if not isinstance(self.spaces, SpaceLimits):
            raise ValueError(f"SandboxOptions.spaces is {self.spaces!r}; expected SpaceLimits.")
        low, high = self.reward_range
        if not low < high:
            raise ValueError(
                f"SandboxOptions.reward_range is {self.reward_range!r}; expected low, high."
            )
        if self.cpu is not None and self.cpu not in os.sched_getaffinity(0):
            raise ValueError(
                f"SandboxOptions.cpu is {self.cpu!r}; expected one of this process's processors: "
                f"{sorted(os.sched_getaffinity(0))}."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> SandboxOptions:
        return self  # frozen, as is all it holds


Sandboxing: TypeAlias = bool | str | Policy | SandboxOptions
"""What ``make`` takes as ``sandbox``: yes, a backend's name, a policy, or all of the options."""


def sandbox_options(sandbox: Sandboxing) -> SandboxOptions:
    """Return the options for the ``sandbox`` argument of ``make``.

    Raises:
        TypeError: it is none of them.
        ValueError: there is no backend of that name.
    """
    if sandbox is True:
        return SandboxOptions()
    if isinstance(sandbox, SandboxOptions):
        return sandbox
    if isinstance(sandbox, Policy):
        return replace(SandboxOptions(), policy=sandbox)
    if isinstance(sandbox, str):
        return replace(SandboxOptions(), backend=sandbox)
    raise TypeError(
        f"sandbox is {sandbox!r}; expected True, the name of a backend, a Policy or SandboxOptions."
    )
