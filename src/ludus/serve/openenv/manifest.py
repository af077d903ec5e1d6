"""Writes ``openenv.yaml``, the manifest of OpenEnv's packages, and what belongs to it.

The package is a folder whose server is ``ludus serve``: the manifest, a Dockerfile, and the probe
with which OpenEnv's validation steps through an episode.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from ludus.atomic import write_whole
from ludus.distribution import requirement
from ludus.errors import StateError
from ludus.serve.openenv.tasks import COUNT, SPLITS
from ludus.serve.schemas import plain, writer
from ludus.serve.served import Served
from ludus.version import __version__

__all__ = ["manifest_of", "write_manifest"]

_PROBE = "validation/runtime.json"
_SEED = 0
_STEPS = 5
_PLENTY = 1e9
"""Bound of rewards of which nothing is known."""
_LEAST_MARGIN, _LONGEST = 0.1, 3600.0
"""What OpenEnv's policy allows at least, and at most."""


def write_manifest(served: Served, folder: Path, *, port: int = 8000) -> Path:
    """Write the package of a served environment; return the path of its ``openenv.yaml``.

    Files that are there already are replaced, except for Dockerfile and README.md.
    """
    (folder / _PROBE).parent.mkdir(parents=True, exist_ok=True)
    file = folder / "openenv.yaml"
    text = yaml.safe_dump(manifest_of(served, port), sort_keys=False, allow_unicode=True)
    write_whole(file, text.encode())
    write_whole(folder / _PROBE, json.dumps(_probe(served), indent=2).encode() + b"\n")
    about = f"# {served.name}\n\n{served.description}\n\nServed by `ludus serve {served.name}`.\n"
    for name, content in (("Dockerfile", _dockerfile(served, port)), ("README.md", about)):
        if not (folder / name).exists():
            write_whole(folder / name, content.encode())
    return file


def manifest_of(served: Served, port: int) -> dict[str, Any]:
    """Return the manifest as plain data."""
    spec = served.facts.spec
    known = {} if served.kind == "research" else {"set_state": _has_state(served)}
    family = spec.family or "environment"
    return {
        "spec_version": 1,
        "name": _slug(served.name),
        "version": __version__,
        "type": "space",
        "runtime": "fastapi",
        "app": "ludus.serve",
        "port": port,
        "validation": {
            "reward": {
                "range": [-_PLENTY, _PLENTY],
                "oracle_tolerance": 0.0,
                "floor_margin": _LEAST_MARGIN,
            },
            "resources": {
                "cpu": 1.0,
                "memory_mb": 2048,
                "disk_mb": 4096,
                "episode_timeout_s": _LONGEST if served.kind == "research" else 600.0,
            },
            "capabilities": {
                "verifier": {"kind": "reward_channel"},
                **known,
                "task_api": True,
                "declared_tools": ["act"],
                "declared_task_count": dict.fromkeys(SPLITS, COUNT),
            },
            "types": {"tags": sorted({family, *spec.tags})},
            "network": {"mode": "no-network"},
            "task_distribution": {"generator_seed": 0, "dataset_version": __version__},
            "execution": {
                "kind": "openenv_ws",
                "probe_path": _PROBE,
                "dockerfile": "Dockerfile",
                "context": ".",
                "agent_boundary": "api",
                "requires_credentials": False,
            },
        },
    }


def _probe(served: Served) -> dict[str, Any]:
    """Return the episode that validation steps through."""
    space = served.action_space
    space.seed(_SEED)
    write = writer(space)
    actions = [{"action": plain(write(space.sample()))} for _ in range(_STEPS)]
    return {
        "plan_schema_version": "1",
        "reset": {"seed": _SEED, "episode_id": "validation", "options": {}},
        "actions": actions,
    }


def _has_state(served: Served) -> bool:
    with served.make() as env:
        env.reset(seed=_SEED)
        try:
            env.get_state()
        except StateError:
            return False
    return True


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _dockerfile(served: Served, port: int) -> str:
    return (
        "FROM python:3.12-slim\n"
        f'LABEL org.opencontainers.image.title="{_slug(served.name)}" \\\n'
        f'      org.opencontainers.image.version="{__version__}" \\\n'
        '      org.opencontainers.image.description="An environment served by Ludus"\n'
        f"RUN pip install '{requirement('serve')}=={__version__}'\n"
        "RUN useradd --create-home ludus\n"
        "USER ludus\n"
        f"EXPOSE {port}\n"
        "# LUDUS_SERVE_TOKEN has to be set: the server listens on all addresses.\n"
        f'CMD ["ludus", "serve", {json.dumps(served.name)}, "--host", "0.0.0.0", '
        f'"--port", "{port}"]\n'
    )
