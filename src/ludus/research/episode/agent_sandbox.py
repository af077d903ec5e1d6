"""The policy of an agent's sandbox: its resources, its mounts, and what is hidden from it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ludus.errors import TaskError
from ludus.research.data.cache import cache_folder
from ludus.research.data.hiding import hidden_paths
from ludus.research.episode.equipment import NONE, Equipment
from ludus.research.episode.observation import OUTPUT
from ludus.research.images.task_image import TaskImage, nothing
from ludus.research.task.task import Task
from ludus.research.tools.installing import BIN, tool_mount
from ludus.sandbox import Mount, Policy
from ludus.sandbox.linux.chosen_packages import shown_with
from ludus.sandbox.linux.visible_files import python_roots, seen_as, system_folders
from ludus.untrusted.package_set import PackageSet
from ludus.untrusted.packages import PACKAGES, kernels_for_sandboxes, package_mounts

__all__ = ["agent_policy", "covers", "declared_packages"]

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KERNELS = "/ludus/kernels"
_TMP = 256 << 20
# Threads count too, and numerical libraries start many.
_PIDS = 512


def agent_policy(
    task: Task, overrides: Mapping[str, Any] | None = None, equipment: Equipment = NONE
) -> Policy:
    """Return the policy of an agent's sandbox: the task's resources, the tools, no network.

    Only the hosts that task and operator allow can be reached, by a proxy.

    Args:
        task: The task.
        overrides: Other values for fields of :class:`~ludus.sandbox.Policy`, for instance
            ``{"memory": None, "cpus": None}`` where these cannot be limited. Mounts,
            variables and egress are added to those of the task.
        equipment: The image of the sandbox, after a look into it, and its GPUs.

    Raises:
        ValueError: An override is not a field, or out of range.
        TaskError: A declared package is not installed.
    """
    given = dict(overrides or {})
    resources = task.config.resources
    packages = {name.partition(".")[0] for name in task.config.packages}
    chosen, image = declared_packages(task), equipment.image
    kernels = (Mount(kernels_for_sandboxes(), _KERNELS),) if "ludus" in packages else ()
    # An image brings its own packages; of this machine's it sees Ludus alone.
    shown = packages if image is None else packages & {"ludus"}
    mounts = (tool_mount(), *package_mounts(sorted(shown)), *kernels)
    fields: dict[str, Any] = {
        "memory": resources.memory,
        "cpus": resources.cpu,
        "pids": _PIDS,
        "disk": resources.disk,
        "tmp": min(_TMP, resources.disk),
        "output": OUTPUT,
        "packages": chosen.names if image is None else None,
        "gpus": equipment.gpus,
    }
    own = {"mounts", "environment", "egress"}
    unknown = sorted(given.keys() - Policy.__dataclass_fields__.keys())
    if unknown:
        raise ValueError(f"policy has {unknown[0]!r}, which is no field of ludus.sandbox.Policy.")
    fields |= {name: value for name, value in given.items() if name not in own}
    hidden = (*hidden_paths(task), cache_folder("data"))
    covered = covers(hidden, mounts, fields["packages"], image=image)
    mounts = (*mounts, *covered, *given.get("mounts", ()))
    environment = {**_environment(resources.cpu, image), **given.get("environment", {})}
    egress = (*task.config.egress, *given.get("egress", ()))
    return Policy(**fields, egress=egress, mounts=mounts, environment=environment)


def covers(
    hidden: Iterable[Path],
    mounts: Iterable[Mount] = (),
    packages: tuple[str, ...] | None = None,
    *,
    image: TaskImage | None = None,
) -> tuple[Mount, ...]:
    """Return mounts that cover the hidden paths that a sandbox would show.

    Args:
        hidden: the paths of the host.
        mounts: of the sandbox.
        packages: distributions that it shows; ``None``: all.
        image: its root in place of the host's folders; what is hidden in it is known.
    """
    host = image is None
    shown = shown_with(packages) if host else ()
    folders = (*system_folders(), *python_roots()) if host else ()
    system = [(Path(folder).resolve(), folder) for folder in folders]
    given = [(Path(m.source).resolve(), m.target) for m in mounts]
    made = {} if image is None else {mount.target: mount for mount in image.covers}
    for path in hidden:
        seen = [str(place) for place in seen_as(path, shown)]
        seen += [str(Path(t, path.relative_to(s))) for s, t in given if path.is_relative_to(s)]
        # Of folders that hold a whole place of the sandbox, the place is covered.
        above = (target for source, target in (*system, *given) if source.is_relative_to(path))
        is_folder = path.is_dir()
        for target in (*seen, *above):
            made[target] = Mount(nothing(is_folder=is_folder), target)
    return tuple(made.values())


def declared_packages(task: Task) -> PackageSet:
    """Return the distributions of the packages that a task declares, with what they need.

    Raises:
        TaskError: One is not installed; the message says what to install.
    """
    chosen = PackageSet.of(task.config.packages)
    if chosen.missing:
        raise TaskError(
            f"Task {task.id} declares packages that are not installed here: "
            f"{', '.join(chosen.missing)}. Install them: {chosen.advice}."
        )
    return chosen


def _environment(cpus: float, image: TaskImage | None) -> dict[str, str]:
    python, path = sys.executable, f"{Path(sys.executable).parent}:{_PATH}"
    if image is not None:
        python, path = "python3", image.path or _PATH
    # Libraries count the machine's processors, not those that the sandbox may use.
    threads = str(max(1, int(cpus)))
    return {
        "PATH": f"{BIN}:{path}",
        "PYTHONPATH": PACKAGES,
        "LUDUS_KERNELS": _KERNELS,
        "LUDUS_CACHE": "/tmp/.cache",  # noqa: S108 - the sandbox's own
        "LUDUS_TOOL_PYTHON": python,
        "MLGYM_WORKSPACE_PATH": "/workspace",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
