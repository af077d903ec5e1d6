"""What a sandbox returns: the result of a command, its usage, and which limits it enforces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ludus.errors import CommandFailed, PolicyNotEnforceable
from ludus.sandbox.policy import Policy
from ludus.terminal_text import escaped

__all__ = ["Completed", "Enforcement", "Usage"]

_LIMITS = ("memory", "cpus", "pids", "disk", "tmp", "files", "wall")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a sandbox used so far; ``None`` where that is unknown."""

    cpu_seconds: float | None = None
    memory_peak: int | None = None
    memory_now: int | None = None
    pids_now: int | None = None
    disk_used: int | None = None
    wall_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """One finished command.

    Attributes:
        stdout: its output, exactly; the middle is missing if ``stdout_cut`` is not zero.
        stderr: likewise.
        returncode: its exit status; 128 + n if signal n ended it.
        timed_out: whether it was killed by its time limit, with or without output.
        oom_killed: whether a process of the sandbox was killed meanwhile for lack of memory.
        usage: of the sandbox at the command's end; ``wall_seconds`` is the command's own.
        stdout_cut: bytes left out of the middle of ``stdout``.
        stderr_cut: likewise.
        note: what else the caller should know, such as that the shell was restarted.
        cut_off: whether it was ended from outside the sandbox.
    """

    stdout: bytes
    stderr: bytes
    returncode: int
    timed_out: bool = False
    oom_killed: bool = False
    usage: Usage = field(default_factory=Usage)
    stdout_cut: int = 0
    stderr_cut: int = 0
    note: str = ""
    cut_off: bool = False

    @property
    def text(self) -> str:
        """``stdout`` as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """``stderr`` as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stderr.decode("utf-8", "replace")

    def check(self) -> Completed:
        """Return this result if the command succeeded.

        Raises:
            CommandFailed: it timed out or its status is not zero.
        """
        if self.returncode == 0 and not self.timed_out:
            return self
        how = "timed out" if self.timed_out else f"ended with status {self.returncode}"
        reason = " for lack of memory" if self.oom_killed else ""
        tail = _tail(self.error_text) or _tail(self.text) or "(no output)"
        note = f"\n{self.note}" if self.note else ""
        raise CommandFailed(f"The command {how}{reason}; it wrote:\n{tail}{note}", completed=self)


def _tail(text: str) -> str:
    return escaped(text[-2000:]).strip()


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Which limits a backend can enforce on this machine.

    Attributes:
        missing: why a field of the policy cannot be enforced, by its name.
        missing_with_network: likewise, for fields that need ``network="none"``.
    """

    missing: Mapping[str, str] = field(default_factory=dict)
    missing_with_network: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("missing", "missing_with_network"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getitem__(self, name: str) -> str:
        return self.missing.get(name, "enforced")

    def holds(self, name: str) -> bool:
        """Return whether the field called ``name`` is enforced."""
        return name not in self.missing

    def require(self, policy: Policy, backend: str, *, host_folder: bool) -> None:
        """Refuse a policy with limits that cannot be enforced.

        Args:
            policy: the limits.
            backend: name, for the message.
            host_folder: whether the workspace is a folder of the host, which has no size limit.

        Raises:
            PolicyNotEnforceable: naming each field and the reason.
        """
        missing = {} if policy.network == "none" else dict(self.missing_with_network)
        missing |= self.missing
        reasons = {
            name: missing[name]
            for name in _LIMITS
            if getattr(policy, name) is not None and name in missing
        }
        if policy.network != "host" and "network" in self.missing:
            reasons["network"] = self.missing["network"]
        if host_folder and policy.disk is not None:
            reasons["disk"] = (
                "the workspace is a folder of the host, whose size only its file system limits; "
                "say disk=None to accept that"
            )
        if reasons:
            listed = "".join(f"\n  {name}: {why}" for name, why in reasons.items())
            raise PolicyNotEnforceable(
                f"The {backend} backend cannot hold a sandbox to this policy here:{listed}\n"
                "Set these fields to None (network to 'host') to do without the limit, or choose "
                "another backend; `ludus.sandbox.doctor()` shows what each can do.",
                reasons=reasons,
            )
