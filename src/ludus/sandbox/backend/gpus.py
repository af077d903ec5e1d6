"""The GPUs of this machine, and which of them other sandboxes use.

The Container Device Interface (CDI) names them. Its files list the device files, libraries and
hooks that a GPU needs; ``nvidia-ctk cdi generate``, for one, writes such a file.

Sandboxes of an image get all of that from the engine, by the name. Those of the host's folders
get the device files alone: the libraries are there already, and hooks would change folders of the
host.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.errors import PolicyNotEnforceable
from ludus.sandbox.leases import state_folder

__all__ = [
    "CDI_FOLDERS",
    "NVIDIA",
    "Gpu",
    "Reservation",
    "cdi_gpus",
    "device_files",
    "device_nodes",
    "nvidia_gpus",
    "refusal",
    "reserve",
]

CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""Where engines look for CDI files unless they are told otherwise."""

_CLASS = "/gpu"
_ALL = "all"
_LONGEST, _MOST_NODES = 4_000_000, 200_000
_NODES = ("nvidia[0-9]*", "dri/renderD*", "kfd")
NVIDIA = "nvidia.com/gpu="
_NVIDIA_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
_INFORMATION = "/proc/driver/nvidia/gpus"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU.

    Attributes:
        name: qualified, such as ``nvidia.com/gpu=0``.
        nodes: its own device files, as a sandbox has them; none if they are not known.
        files: all device files that it needs, each by its path on the host and in a sandbox.
    """

    name: str
    nodes: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    def described(self, information: str = _INFORMATION) -> dict[str, str]:
        """Return name, model and number of the GPU for a record, as far as the driver tells."""
        told = {"device": self.name}
        for file in sorted(Path(information).glob("*/information")):
            with suppress(OSError):
                lines = (line.partition(":") for line in file.read_text("utf-8").splitlines())
                found = {key.strip(): value.strip() for key, _, value in lines}
                if f"/dev/nvidia{found.get('Device Minor')}" in self.nodes:
                    told |= {"model": found.get("Model", ""), "uuid": found.get("GPU UUID", "")}
        return told


def cdi_gpus(folders: Iterable[str] = CDI_FOLDERS) -> tuple[Gpu, ...]:
    """Return the GPUs that CDI files list; one with several names is returned once.

    A file that cannot be read is passed over: the engine says what is wrong with it.
    """
    found: dict[tuple[str, ...], Gpu] = {}
    for gpu in sorted(_listed(folders), key=lambda gpu: (len(gpu.name), gpu.name)):
        found.setdefault(tuple(sorted(gpu.nodes)) or (gpu.name,), gpu)
    return tuple(sorted(found.values(), key=lambda gpu: _by_number(gpu.name)))


def device_nodes(folder: str = "/dev") -> tuple[str, ...]:
    """Return the device files of GPUs, whether or not an engine knows of them."""
    return tuple(str(path) for pattern in _NODES for path in sorted(Path(folder).glob(pattern)))


def nvidia_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs of NVIDIA's driver by their device files, for an engine without CDI files."""
    common = tuple((path, path) for path in _NVIDIA_FILES if Path(path).exists())
    numbers = (re.fullmatch(r"/dev/nvidia(\d+)", node) for node in device_nodes())
    return tuple(
        Gpu(f"{NVIDIA}{match[1]}", (match[0],), ((match[0], match[0]), *common))
        for match in numbers
        if match
    )


def device_files(gpus: Iterable[Gpu]) -> tuple[tuple[str, str], ...]:
    """Return the device files of GPUs, by their paths on the host and in a sandbox."""
    return tuple(dict.fromkeys(pair for gpu in gpus for pair in gpu.files))


def refusal(wanted: int | tuple[str, ...], why: str) -> PolicyNotEnforceable:
    """Return the error for GPUs that cannot be passed through."""
    count = wanted if isinstance(wanted, int) else ", ".join(wanted)
    return PolicyNotEnforceable(
        f"The policy asks for GPUs ({count}), but {why}", reasons={"gpus": why}
    )


class Reservation:
    """GPUs that are in use until it is closed, or its process ends."""

    def __init__(self, gpus: tuple[Gpu, ...], locks: tuple[int, ...]) -> None:
        self.gpus, self._locks = gpus, locks

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the GPUs."""
        return tuple(gpu.name for gpu in self.gpus)

    def close(self) -> None:
        """Let others prefer these GPUs."""
        for lock in self._locks:
            os.close(lock)
        self._locks = ()


def reserve(wanted: int | tuple[str, ...], found: tuple[Gpu, ...]) -> Reservation:
    """Choose GPUs: those that were named, or as many as wanted, unused ones first.

    Where too few are unused, sandboxes share the others.

    Raises:
        PolicyNotEnforceable: there are not so many, or none of a name.
    """
    known = {gpu.name: gpu for gpu in found}
    here = ", ".join(known) or "none"
    if isinstance(wanted, tuple):
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise refusal(wanted, f"there is no {', '.join(unknown)}; found {here}.")
        locks = (_lock(name) for name in wanted)
        return Reservation(
            tuple(known[name] for name in wanted), tuple(lock for lock in locks if lock is not None)
        )
    if wanted > len(found):
        raise refusal(wanted, f"this machine has {len(found)}: {here}.")
    taken: dict[str, int] = {}
    for name in known:
        if len(taken) < wanted and (lock := _lock(name)) is not None:
            taken[name] = lock
    rest = [name for name in known if name not in taken][: wanted - len(taken)]
    chosen = tuple(known[name] for name in (*taken, *rest))
    return Reservation(chosen, tuple(taken.values()))


def _lock(name: str) -> int | None:
    """Lock a GPU for as long as the descriptor is open; ``None`` if another sandbox has it."""
    folder = state_folder() / "gpus"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / re.sub(r"[^A-Za-z0-9._-]", "_", name)
    lock = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _listed(folders: Iterable[str]) -> Iterator[Gpu]:
    files = [file for folder in folders for file in sorted(Path(folder).glob("*"))]
    files = [file for file in files if file.suffix in (".json", ".yaml", ".yml")]
    if not files:
        return
    # Sandboxes open where nothing is installed, and few have GPUs.
    from ludus.plain_yaml import YamlLimits, read_yaml

    limits = YamlLimits(characters=_LONGEST, nodes=_MOST_NODES)
    for file in files:
        # Malformed in whatever way, it is for the engine to complain about.
        with suppress(OSError, ValueError, AttributeError, TypeError, KeyError):
            yield from _read(read_yaml(file.read_text("utf-8"), limits).data)


def _read(told: Any) -> Iterator[Gpu]:
    """Yield the GPUs of a CDI file."""
    if not isinstance(told, Mapping) or not str(told.get("kind", "")).endswith(_CLASS):
        return
    common = _nodes(told)
    for device in told.get("devices") or ():
        name, own = str(device.get("name", "")), _nodes(device)
        if name != _ALL:
            nodes = tuple(inside for _, inside in own)
            yield Gpu(f"{told['kind']}={name}", nodes, (*own, *common))


def _nodes(told: Any) -> tuple[tuple[str, str], ...]:
    """Return the device files of a GPU, or of all in a CDI file: on the host, and inside."""
    found = (told.get("containerEdits") or {}).get("deviceNodes") or ()
    return tuple((str(node.get("hostPath") or node["path"]), str(node["path"])) for node in found)


def _by_number(name: str) -> tuple[str | int, ...]:
    parts = re.split(r"(\d+)", name)
    return tuple(int(part) if part.isdigit() else part for part in parts)
