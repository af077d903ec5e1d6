"""Runs the preparation program of an imported competition in a sandbox of its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ludus import logger
from ludus.errors import DataMissing, PolicyNotEnforceable, SandboxError, TaskError
from ludus.research.data.sources import data_variable, given_folder
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.opening import open_sandbox
from ludus.sandbox.policy import Mount, Policy
from ludus.terminal_text import excerpt
from ludus.untrusted.packages import PACKAGES, package_mounts

__all__ = ["prepare_competition"]

_SECONDS = 3600.0
_RAW, _CODE = "/import/raw", "/import/prepare"
_BOOT = (
    "import sys; sys.path[:0] = {paths!r}; "
    "from ludus.research.importing.inside.mle_bench import prepare; prepare({code!r}, {raw!r})"
)
_PACKAGES = ("ludus", "numpy", "pandas", "sklearn", "scipy", "PIL")


def prepare_competition(task: Path, folder: Path) -> None:
    """Write public data to ``workspace/data`` and private data to ``test``.

    Args:
        task: Folder of the imported task.
        folder: As for ``build`` of a task's ``data.py``.

    Raises:
        DataMissing: The raw data is not here.
        TaskError: The program failed, or wrote neither answers nor a sample submission.
    """
    settings = json.loads((task / "prepare" / "settings.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="ludus-import-") as temporary:
        raw = _readable(_raw_folder(task, settings["id"]), Path(temporary, "raw"))
        code = _readable(task / "prepare", Path(temporary, "prepare"))
        with _open(raw, code) as sandbox:
            boot = _BOOT.format(paths=[PACKAGES], code=_CODE, raw=_RAW)
            argv = [os.path.normpath(sys.executable), "-I", "-B", "-c", boot]
            done = sandbox.run(argv, timeout=_SECONDS)
            if done.returncode != 0:
                raise TaskError(
                    f"The preparation of {settings['id']} failed (exit code {done.returncode}): "
                    f"{excerpt(done.text, 2000, tail=True)}"
                )
            try:
                sandbox.get("public", folder / "workspace" / "data")
                sandbox.get("private", folder / "test" / "private")
            except SandboxError as problem:
                raise TaskError(
                    f"What the preparation of {settings['id']} made cannot be taken: {problem}"
                ) from problem
    for path in (
        folder / "workspace" / "data" / settings["sample"],
        folder / "test" / "private" / settings["answers"],
    ):
        if not path.is_file() or path.is_symlink():
            raise TaskError(f"The preparation of {settings['id']} made no {path.name}.")


def _raw_folder(task: Path, id: str) -> Path:
    for place in (task / "raw", given_folder(id)):
        if place is not None and place.is_dir():
            return place
    raise DataMissing(
        f"The raw data of the competition {id} is not here. Put it into {task / 'raw'}, or name "
        f"its folder in the variable {data_variable(id)}."
    )


def _open(raw: Path, code: Path) -> Sandbox:
    mounts = (*package_mounts(_PACKAGES), Mount(str(raw), _RAW), Mount(str(code), _CODE))
    limits = {"pids": 256, "disk": 16 << 30, "mounts": mounts}
    try:
        return open_sandbox(Policy(memory=8 << 30, cpus=2.0, **limits), label="prepare")  # type: ignore[arg-type]
    except PolicyNotEnforceable:
        logger.warn("Memory and processors of the data preparation cannot be limited here.")
        return open_sandbox(Policy(memory=None, cpus=None, **limits), label="prepare")  # type: ignore[arg-type]


def _readable(folder: Path, copy: Path) -> Path:
    """Return the folder, or a copy that a sandbox's user may read."""
    if os.geteuid() != 0:
        return folder
    copy.parent.chmod(0o755)
    shutil.copytree(folder, copy, symlinks=True)
    for path in (copy, *copy.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
    return copy
