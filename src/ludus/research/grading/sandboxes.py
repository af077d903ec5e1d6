"""The two fresh sandboxes of a grading: one for the grader, one for submitted code."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.errors import GradingFailed
from ludus.research.data.cache import cache_folder
from ludus.research.episode.agent_sandbox import covers
from ludus.research.episode.equipment import Equipment
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.peer import Peer
from ludus.research.grading.protocol import KERNELS
from ludus.research.images.task_image import TaskImage
from ludus.research.task.contract import Gradable, Split
from ludus.research.task.discovery import BUNDLED
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.opening import open_sandbox
from ludus.sandbox.policy import Mount, Policy
from ludus.untrusted.package_set import PackageSet
from ludus.untrusted.packages import (
    PACKAGES,
    kernels_for_sandboxes,
    package_folders,
    package_mounts,
)

__all__ = ["Sandboxes"]

_BOOT = "import sys; sys.path[:0] = {paths!r}; from {module} import main; main()"
_KERNELS = "/ludus/kernels"
# One processor is what a sandbox has: threads of libraries would only cost it time and pids.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_SPARE = 16 << 20
_GRADER_PIDS = 256


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Opens the sandboxes for one submission; the backend ``"process"`` hides nothing.

    ``stack`` keeps temporary folders while the sandboxes need them.
    """

    task: Gradable
    artefacts: Artefacts
    limits: GradingLimits
    equipment: Equipment
    stack: ExitStack

    @property
    def backend(self) -> str | None:
        """The backend of both."""
        return self.equipment.backend

    def open_code(self, *, forget: bool = False) -> Peer:
        """Open a submission sandbox: the submitted files, and nothing that is hidden.

        It runs in the task's image, if there is one, and has the GPUs that the task gives it.

        To ``forget``: closing drops pages of host files that it was the first to read, which could
        otherwise carry a message to a later episode.

        Raises:
            SandboxError: no such sandbox can be opened here.
        """
        # Graders come with the package, and labels are made from files that packages installed.
        hidden = (BUNDLED, cache_folder("data"), *self.task.hidden)
        image = self.equipment.image
        sandbox = self._open(
            "code",
            (),
            hidden,
            disk=self.limits.disk,
            pids=self.limits.pids,
            image=image,
            gpus=self._gpus(),
        )
        if forget:
            sandbox._forget_cache()
        python = None if image is None else "python3"
        return self._started(sandbox, "", "inside_code", self.limits.printed_bytes, python)

    def open_grader(self, split: Split, seed: int, draw: int) -> tuple[Peer, dict[str, Any]]:
        """Open a grading sandbox; return its program, and the recipe to send to it.

        It has neither the task's image nor GPUs: what decides the score is of this machine alone.

        Raises:
            SandboxError: no such sandbox can be opened here.
            GradingFailed: the task has no grader.
            DataMissing: its labels cannot be made.
        """
        grader, labels = self.task.grader_folder, self.task.labels_folder(split, seed)
        if not (grader / "grade.py").is_file():
            raise GradingFailed(f"{self.task.id} has no grade.py in its grader's folder.")
        sources = {"grader": grader, "labels": labels if labels is not None else self._nothing()}
        if self.backend == "process":
            places = {name: str(source) for name, source in sources.items()}
            mounts: tuple[Mount, ...] = ()
        else:
            # A random path, which cannot be known from the source.
            place = f"/ludus/{secrets.token_hex(16)}"
            places = {name: f"{place}/{name}" for name in sources}
            mounts = tuple(
                Mount(str(self._readable(source)), places[name]) for name, source in sources.items()
            )
        sandbox = self._open("grader", mounts, (), disk=self.limits.disk, pids=_GRADER_PIDS)
        peer = self._started(sandbox, "submission/", "inside_grader", None)
        told = {
            **places,
            "files": f"{sandbox._home()}/submission",
            "kinds": {item.path: item.kind for item in self.task.submission},
            "seed": draw,
            "split": split,
        }
        return peer, told

    def _open(
        self,
        label: str,
        mounts: tuple[Mount, ...],
        hidden: tuple[Path, ...],
        *,
        disk: int,
        pids: int,
        image: TaskImage | None = None,
        gpus: int | tuple[str, ...] = 0,
    ) -> Sandbox:
        if self.backend == "process":
            return open_sandbox(backend=self.backend, label=label)
        # An image brings its own packages; of this machine's it sees Ludus alone.
        shown = self._packages() if image is None else ["ludus"]
        mounts = (*package_mounts(shown), *mounts)
        if self._uses_kernels():
            mounts = (*mounts, Mount(kernels_for_sandboxes(), _KERNELS))
        chosen = PackageSet.of(shown).names if image is None else None
        policy = Policy(
            memory=self.limits.memory,  # type: ignore[arg-type]
            cpus=self.limits.cpus,
            pids=pids,
            disk=disk + self.artefacts.size + _SPARE,
            packages=chosen,
            mounts=(*mounts, *covers(hidden, mounts, chosen, image=image)),
            gpus=gpus,
        )
        name = None if image is None else image.digest
        return open_sandbox(policy, backend=self.backend, label=label, image=name)

    def _started(
        self,
        sandbox: Sandbox,
        folder: str,
        module: str,
        printed_bytes: int | None,
        python: str | None = None,
    ) -> Peer:
        """Put the submission into a sandbox and start its program, by default with this Python."""
        try:
            for path, data in self.artefacts.files.items():
                sandbox.write_bytes(f"{folder}{path}", data)
            isolated = self.backend != "process"
            paths = [PACKAGES] if isolated else package_folders(self._packages())
            boot = _BOOT.format(paths=paths, module=f"ludus.research.grading.{module}")
            python = python or os.path.normpath(sys.executable)
            argv = [python, "-I", "-B", "-u", "-c", boot]
            environment = {**_ENVIRONMENT, "LUDUS_CACHE": f"{sandbox._home()}/.cache"}
            if self._uses_kernels():
                environment[KERNELS] = _KERNELS if isolated else kernels_for_sandboxes()
            return Peer(sandbox, sandbox.spawn(argv, env=environment), printed_bytes=printed_bytes)
        except BaseException:
            sandbox.close("its program could not be started")
            raise

    def _gpus(self) -> int | tuple[str, ...]:
        """Return the agent's own GPUs, if they are known and as many as needed; else a number."""
        own, wanted = self.equipment.gpus, self.equipment.submission_gpus
        return own[:wanted] if isinstance(own, tuple) and 0 < wanted <= len(own) else wanted

    def _packages(self) -> list[str]:
        names = (name.partition(".")[0] for name in self.task.packages)
        return list(dict.fromkeys(["ludus", *names]))

    def _uses_kernels(self) -> bool:
        return any(name.partition(".")[0] == "ludus" for name in self.task.packages)

    def _nothing(self) -> Path:
        return Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="ludus-labels-")))

    def _readable(self, folder: Path) -> Path:
        """Return the folder, or a copy that only a sandbox's user may read."""
        if os.geteuid() != 0 or _is_open(folder):
            return folder
        private = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="ludus-")))
        copy = private / "copy"
        shutil.copytree(folder, copy)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return copy


def _is_open(folder: Path) -> bool:
    """Whether all users may read a folder and all in it."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
        if mode & wanted != wanted:
            return False
    return True
