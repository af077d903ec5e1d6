"""Export of a research task as a Harbor task (schema 1.4).

The agent's image contains only the workspace and has no network. Grader and labels are in the image
of a separate verifier, into which Harbor copies only the files that the task declares.
"""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ludus.distribution import requirement
from ludus.errors import TaskError
from ludus.research.data.preparation import prepare
from ludus.research.task.config import TaskConfig
from ludus.research.task.task import Task
from ludus.version import __version__

__all__ = ["export_harbor_task"]

SCHEMA = "1.4"
WORKSPACE = "/workspace"
IMAGE = "python:3.11-slim"
_IGNORED = shutil.ignore_patterns("__pycache__", ".git")


def export_harbor_task(
    task: Task,
    folder: Path,
    *,
    seed: int = 0,
    image: str = IMAGE,
    requirements: Sequence[str] = (),
    ludus: str = f"{requirement('research')}=={__version__}",
) -> None:
    """Export a task as a Harbor task to a new folder.

    Args:
        task: The task.
        folder: Folder to create.
        seed: Seed of the data, which is built now, and of the grading.
        image: Base image of both images; must have Python and pip.
        requirements: Packages to install with pip in both images.
        ludus: Pip requirement of Ludus for the verifier's image.

    Raises:
        DataMissing: Data has to be downloaded first.
        FileExistsError: The folder exists.
        TaskError: The task declares no submission, or cannot be prepared.
    """
    if not task.config.submission:
        raise TaskError(f"Task {task.id} declares no submission, so there is nothing to verify.")
    with tempfile.TemporaryDirectory() as temporary:
        made = prepare(task, seed, Path(temporary) / "made")
        folder.mkdir(parents=True)
        shutil.copytree(made.workspace, folder / "environment" / "workspace")
        shutil.copytree(made.test, folder / "tests" / "labels")
    _write(folder / "task.toml", _toml(_settings(task.config)))
    _write(folder / "instruction.md", _instruction(task.config))
    copied = ["COPY workspace/ " + WORKSPACE, "WORKDIR " + WORKSPACE]
    _write(folder / "environment" / "Dockerfile", _dockerfile(image, requirements, copied))
    _write_tests(task, folder / "tests", seed)
    copied = ["COPY . /tests", "WORKDIR " + WORKSPACE]
    _write(folder / "tests" / "Dockerfile", _dockerfile(image, [ludus, *requirements], copied))
    _write_solution(task, folder / "solution")


def _write_tests(task: Task, tests: Path, seed: int) -> None:
    shutil.copytree(task.grader, tests / "task" / "grader", ignore=_IGNORED)
    shutil.copyfile(task.file, tests / "task" / "task.yaml")
    _write(tests / "seed.json", json.dumps({"seed": seed}))
    command = f"exec python -m ludus.interop.harbor.verifying /tests {WORKSPACE} /logs/verifier"
    _write(tests / "test.sh", f"#!/bin/bash\n{command}\n", mode=0o755)


def _write_solution(task: Task, solution: Path) -> None:
    command = task.config.run.reference
    if command is None or not task.reference.is_dir():
        return
    shutil.copytree(task.reference, solution / "files", ignore=_IGNORED)
    lines = [
        "#!/bin/bash",
        "set -eu",
        f'cp -R "$(dirname "$0")/files/." {WORKSPACE}/',
        f"cd {WORKSPACE}",
        command,
    ]
    _write(solution / "solve.sh", "\n".join(lines) + "\n", mode=0o755)


def _settings(config: TaskConfig) -> dict[str, Any]:
    resources = config.resources
    return {
        "schema_version": SCHEMA,
        "artifacts": [f"{WORKSPACE}/{artefact.path}" for artefact in config.submission],
        "task": {"name": f"ludus/{config.id}", "description": config.name},
        "metadata": {
            "metric": config.evaluation.metric,
            "threshold": config.evaluation.threshold,
            "direction": config.evaluation.direction,
        },
        "agent": {"timeout_sec": float(config.timeout * config.max_steps)},
        "verifier": {"timeout_sec": float(config.timeout), "environment_mode": "separate"},
        "verifier.environment": _sandbox(config, gpus=0, at_least=2048),
        "environment": {**_sandbox(config, gpus=resources.gpu), "workdir": WORKSPACE},
    }


def _sandbox(config: TaskConfig, gpus: int, at_least: int = 1) -> dict[str, Any]:
    resources = config.resources
    return {
        "cpus": resources.cpu,
        "memory_mb": max(resources.memory >> 20, at_least),
        "storage_mb": max(resources.disk >> 20, 1),
        "gpus": gpus,
        "network_mode": "no-network",
    }


def _instruction(config: TaskConfig) -> str:
    files = "\n".join(f"- `{WORKSPACE}/{item.path}` ({item.kind})" for item in config.submission)
    return (
        f"# {config.name}\n\n{config.description.rstrip()}\n\n"
        f"Work in `{WORKSPACE}`. When you are done, these files are graded, by the metric "
        f"`{config.evaluation.metric}` ({config.evaluation.direction} is better):\n\n{files}\n"
    )


def _dockerfile(image: str, requirements: Sequence[str], copied: Sequence[str]) -> str:
    wanted = " ".join(shlex.quote(one) for one in requirements)
    install = [f"RUN pip install --no-cache-dir {wanted}"] if wanted else []
    return "\n".join([f"FROM {image}", *install, *copied]) + "\n"


def _toml(settings: Mapping[str, Any]) -> str:
    """Return settings as TOML: plain values first, then tables."""
    alone = [f"{k} = {_value(v)}" for k, v in settings.items() if not isinstance(v, dict)]
    tables = [
        "\n".join([f"\n[{name}]", *(f"{k} = {_value(v)}" for k, v in table.items())])
        for name, table in settings.items()
        if isinstance(table, dict)
    ]
    return "\n".join([*alone, *tables]) + "\n"


def _value(value: Any) -> str:
    # JSON strings, numbers and lists are valid TOML, except for an unescaped DEL character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _write(path: Path, text: str, *, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
