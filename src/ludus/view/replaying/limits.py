"""What a worker process may use."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

__all__ = ["WorkerLimits", "apply_limits", "worker_environment"]

_GIB = 2**30
_PASSED = frozenset(
    {"DISPLAY", "HOME", "LANG", "LD_LIBRARY_PATH", "LUDUS_CACHE", "LUDUS_JIT", "LUDUS_TRUST"}
    | {"MUJOCO_GL", "PATH", "PYOPENGL_PLATFORM", "PYTHONHASHSEED", "PYTHONPATH", "TMPDIR"}
    | {"USER", "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}
    | {"XDG_RUNTIME_DIR"}
)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits of one worker process.

    Attributes:
        memory: Bytes of data; the address space may have four times as many.
        request_seconds: How long one request may take before the process is killed.
        cpu_seconds: Processor time of the whole process.
        idle_seconds: After how long without a request the process is ended.
    """

    memory: int = 2 * _GIB
    request_seconds: float = 30.0
    cpu_seconds: int = 3600
    idle_seconds: float = 120.0


def apply_limits(memory: int, cpu_seconds: int) -> None:
    """Limit this process; called by the worker before it imports anything of an environment."""
    wanted = {
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_AS: 4 * memory,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))


def worker_environment() -> dict[str, str]:
    """Return the environment variables of a worker: no keys, tokens or addresses of databases."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED}
    kept |= {name: value for name, value in os.environ.items() if name.startswith("LC_")}
    # One thread per library: each further one reserves memory that counts.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **kept,
        **threads,
        "LUDUS_COMPILE": "background",
        "PYGAME_HIDE_SUPPORT_PROMPT": "1",
        "SDL_AUDIODRIVER": "dummy",
        "SDL_VIDEODRIVER": "dummy",
    }
