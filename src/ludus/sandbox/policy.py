"""The limits of a sandbox: one frozen value, checked when it is made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ludus.sandbox.egress.limits import EgressLimits

if TYPE_CHECKING:
    from ludus.core.spec import SecuritySpec

__all__ = ["Mount", "Network", "Policy", "parse_size"]

Network = Literal["none", "loopback", "host"]

_MIB = 1 << 20
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A device as the Container Device Interface names it: vendor/class=name.
_GPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z][A-Za-z0-9_-]*=[A-Za-z0-9][A-Za-z0-9._:-]*")
_MOST_GPUS = 64
_RESERVED = ("/", "/proc", "/dev", "/sys", "/usr", "/bin", "/lib", "/lib64", "/etc")
_OWN = ("/workspace", "/tmp", "/dev/shm")  # noqa: S108 - places inside a sandbox
_T = TypeVar("_T")


def parse_size(size: int | str) -> int:
    """Return ``size`` in bytes, from a number or a string such as ``"256M"`` or ``"1.5 GiB"``.

    Units are powers of 1024.

    Raises:
        ValueError: it is not a size.
    """
    if isinstance(size, str):
        match = _SIZE.fullmatch(size.strip())
        if match:
            return int(float(match[1]) * (1 << _UNITS[match[2].upper()]))
    elif isinstance(size, int) and not isinstance(size, bool):
        return size
    raise ValueError(f"{size!r} is no size; expected bytes or a string such as '256M' or '1G'.")


@dataclass(frozen=True, slots=True)
class Mount:
    """A host path shown inside the sandbox.

    Args:
        source: an existing path of the host that the sandbox's user may read.
        target: an absolute path inside; not one the sandbox makes itself.
        writable: whether the sandbox may change it. What it writes there does not count as disk.
    """

    source: str
    target: str
    writable: bool = False

    def __post_init__(self) -> None:
        source, target = Path(self.source), PurePosixPath(self.target)
        if not source.is_absolute() or "\0" in self.source:
            raise ValueError(f"Mount.source is {self.source!r}; expected an absolute path.")
        clean = target.is_absolute() and ".." not in target.parts and "\0" not in self.target
        if not clean or str(target) in (*_RESERVED, *_OWN):
            raise ValueError(
                f"Mount.target is {self.target!r}; expected an absolute path without '..' that is "
                f"none of {', '.join((*_RESERVED, *_OWN))}. A folder below them, or of its own "
                "such as '/data', works."
            )
        if target.parts[1] in ("proc", "dev", "sys"):
            raise ValueError(f"Mount.target is {self.target!r}; nothing is mounted in /proc, /dev.")
        object.__setattr__(self, "source", str(source))
        object.__setattr__(self, "target", str(target))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits of one sandbox. ``None`` asks for no limit where the field allows it.

    Sizes are bytes or strings such as ``"256M"``. A backend that cannot enforce one of the limits
    refuses the policy.

    Args:
        memory: of the whole process tree, swap and tmpfs contents included.
        cpus: CPU bandwidth of the tree.
        pids: processes and threads of the tree.
        disk: size of ``/workspace``. ``None`` only with a host folder as workspace.
        tmp: size of ``/tmp`` and of ``/dev/shm``, each.
        files: open descriptors per process.
        wall: seconds the sandbox may live.
        idle: seconds a command may be silent.
        output: bytes kept of each stream of a command, half from its head, half from its tail.
        network: ``"none"``; ``"loopback"``, private to the sandbox; ``"host"``, no isolation.
        egress: hosts that programs may reach through a proxy, such as ``"pypi.org:443"`` or
            ``"*.pythonhosted.org"``; the port is 443 by default. With them the network is a private
            ``"loopback"``. See :mod:`ludus.sandbox.egress`.
        egress_limits: of connections, bytes and time of the egress.
        packages: distributions of this Python that are shown, and no others; ``None`` shows all.
        mounts: host paths shown inside.
        gpus: how many GPUs programs may use, or which, as the Container Device Interface names
            them: ``("nvidia.com/gpu=0",)``. Only podman and Docker pass GPUs through. Memory and
            time of a GPU are not limited.
        environment: variables besides ``PATH``, ``HOME``, ``LANG``, ``TMPDIR``.
        uid: host user the sandbox runs as; by default a user of its own if the caller is root, else
            the caller.

    Raises:
        ValueError: a field is out of range; the message names it.
    """

    memory: int | None = 512 * _MIB
    cpus: float | None = 1.0
    pids: int | None = 128
    disk: int | None = 256 * _MIB
    tmp: int | None = 64 * _MIB
    files: int | None = 1024
    wall: float | None = None
    idle: float | None = None
    output: int = _MIB
    network: Network = "none"
    egress: tuple[str, ...] = ()
    egress_limits: EgressLimits = field(default_factory=EgressLimits)
    packages: tuple[str, ...] | None = None
    mounts: tuple[Mount, ...] = ()
    gpus: int | tuple[str, ...] = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    uid: int | None = None

    def __post_init__(self) -> None:
        for name, (read, low, high, optional) in _NUMBERS.items():
            value = getattr(self, name)
            if value is None and optional:
                continue
            object.__setattr__(self, name, _number(name, value, read, low, high))
        if self.network not in ("none", "loopback", "host"):
            raise ValueError(
                f"Policy.network is {self.network!r}; expected 'none', 'loopback' or 'host'."
            )
        if self.egress:
            self._check_egress()
        if self.packages is not None:
            self._check_packages()
        mounts = tuple(self.mounts)
        if not all(isinstance(mount, Mount) for mount in mounts):
            raise ValueError(f"Policy.mounts is {mounts!r}; expected Mount(source, target) values.")
        object.__setattr__(self, "mounts", mounts)
        self._check_gpus()
        environment = dict(self.environment)
        for key, text in environment.items():
            check_variable(key, text, "Policy.environment")
        object.__setattr__(self, "environment", MappingProxyType(environment))

    def _check_gpus(self) -> None:
        if isinstance(self.gpus, int) and not isinstance(self.gpus, bool):
            _number("gpus", self.gpus, _count, 0, _MOST_GPUS)
            return
        names = self.gpus if isinstance(self.gpus, tuple | list) else ()
        named = all(isinstance(name, str) and _GPU.fullmatch(name) for name in names)
        if not 0 < len(names) <= _MOST_GPUS or not named or len({*names}) != len(names):
            raise ValueError(
                f"Policy.gpus is {self.gpus!r}; expected a number, or different names of devices "
                "such as ('nvidia.com/gpu=0',)."
            )
        object.__setattr__(self, "gpus", tuple(names))

    def _check_packages(self) -> None:
        names = self.packages
        if isinstance(names, str) or not all(map(_DISTRIBUTION.fullmatch, names or ())):
            raise ValueError(
                f"Policy.packages is {names!r}; expected names of distributions, ('numpy',)."
            )
        canonical = {re.sub(r"[-_.]+", "-", name).lower() for name in names or ()}
        object.__setattr__(self, "packages", tuple(sorted(canonical)))

    def _check_egress(self) -> None:
        # It takes a while to import, and few sandboxes have egress.
        from ludus.sandbox.egress.rules import parse_rules

        try:
            rules = parse_rules(self.egress)
        except ValueError as problem:
            raise ValueError(f"Policy.{problem}") from None
        if self.network == "host":
            raise ValueError(
                "Policy.egress is a list of hosts, and Policy.network is 'host', which reaches all "
                "of them; leave the network as it is by default."
            )
        object.__setattr__(self, "egress", tuple(map(str, rules)))
        object.__setattr__(self, "network", "loopback")

    def __hash__(self) -> int:
        return hash((self.memory, self.cpus, self.pids, self.disk, self.network, self.mounts))

    @classmethod
    def from_spec(cls, security: SecuritySpec, **overrides: Any) -> Policy:
        """Return the policy that grants what ``security`` declares, and nothing else.

        Each path of ``filesystem`` is mounted read-only at its own place. Without ``subprocess``
        some ``pids`` are left, since threads count as well.

        Raises:
            ValueError: a declared path cannot be mounted, or an override is out of range.
        """
        granted: dict[str, Any] = {
            "network": security.network,
            "mounts": tuple(Mount(path, path) for path in security.filesystem),
            "pids": 128 if security.subprocess else 32,
        }
        return cls(**{**granted, **overrides})


def check_variable(key: object, text: object, where: str) -> None:
    """Raise ``ValueError`` unless ``key=text`` can stand in an environment."""
    if not isinstance(key, str) or not _NAME.fullmatch(key):
        raise ValueError(f"{where} has the name {key!r}; expected letters, digits and '_'.")
    if not isinstance(text, str) or "\0" in text:
        raise ValueError(f"{where}[{key!r}] is {text!r}; expected a string without NUL.")


def _number(name: str, value: Any, read: Callable[[Any], _T], low: float, high: float) -> _T:
    try:
        number = read(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Policy.{name}: {error}") from None
    if not low <= number <= high:  # type: ignore[operator]
        raise ValueError(f"Policy.{name} is {value!r}; expected {low:,} to {high:,}.")
    return number


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError(f"{value!r} is no number.")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number.")
    return value


# field: reader, smallest, largest, whether None is allowed. The lower bounds are what bash itself
# needs to start; below them every sandbox would fail in a way that is hard to read.
_NUMBERS: dict[str, tuple[Callable[[Any], Any], float, float, bool]] = {
    "memory": (parse_size, 8 * _MIB, 1 << 50, True),
    "cpus": (_seconds, 0.01, 4096.0, True),
    "pids": (_count, 4, 1 << 22, True),
    "disk": (parse_size, 64 << 10, 1 << 50, True),
    "tmp": (parse_size, 64 << 10, 1 << 50, True),
    "files": (_count, 128, 1 << 20, True),
    "wall": (_seconds, 0.001, 1e9, True),
    "idle": (_seconds, 0.001, 1e9, True),
    "output": (parse_size, 1024, 1 << 30, False),
    "uid": (_count, 1, (1 << 32) - 2, True),
}
