"""Where a run comes from: source hashes, packages, machine, and git commit."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ludus.core.env import Env
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import VectorEnv
from ludus.registration.entry_point import load_env_creator
from ludus.registration.table import registry
from ludus.served_names import own_name
from ludus.version import __version__

__all__ = ["env_source", "package_source", "provenance"]


_PACKAGES = (
    "ale-py",
    "box2d",
    "gymnasium",
    "jax",
    "llvmlite",
    "mujoco",
    "numba",
    "numpy",
    "open_spiel",
    "pygame-ce",
    "stable-baselines3",
    "torch",
)
_GIT_SECONDS = 2.0
_MOST_PARENTS = 64


def provenance(env: Env[Any, Any] | VectorEnv[Any, Any, Any] | None = None) -> dict[str, Any]:
    """Return where a run that starts now comes from, as plain data.

    What belongs to the process (packages, machine, hash of Ludus' source, git) is found out once
    and kept. With ``env``, its spec and source are included.
    """
    found = dict(_of_process(str(Path.cwd())))
    if env is not None:
        found["env"] = _of_env(env)
    return found


@cache
def _of_process(folder: str) -> Mapping[str, Any]:
    return {
        "ludus": {"version": __version__, "source": package_source()},
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
        },
        "packages": _packages(),
        "cpu": _cpu(),
        "os": {"system": platform.system(), "release": platform.release(), "libc": _libc()},
        "git": _git(Path(folder)),
    }


def _packages() -> dict[str, dict[str, str | None]]:
    """Return the version of each package, and the SHA-256 of the list of its files' hashes."""
    found = {}
    for name in _PACKAGES:
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        files = package.read_text("RECORD")
        digest = None if files is None else hashlib.sha256(files.encode()).hexdigest()
        found[name] = {"version": package.version, "files": digest}
    return found


def _libc() -> str:
    return " ".join(platform.libc_ver()).strip()


def _cpu() -> dict[str, Any]:
    """Return the processor's model, and a digest of the instructions it offers."""
    lines: dict[str, str] = {}
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if not key.strip():
                    break
                lines[key.strip()] = value.strip()
    except OSError:
        pass
    flags = " ".join(sorted(lines.get("flags", lines.get("Features", "")).split()))
    return {
        "model": lines.get("model name", platform.processor() or platform.machine()),
        "machine": platform.machine(),
        "count": os.cpu_count(),
        "byte_order": sys.byteorder,
        "flags": hashlib.sha256(flags.encode()).hexdigest()[:16] if flags else None,
    }


def _of_env(env: Env[Any, Any] | VectorEnv[Any, Any, Any]) -> dict[str, Any]:
    spec = env.unwrapped.spec
    known = None if spec is None else registry.get(spec.id)
    return {
        "id": None if spec is None else spec.id,
        "class": _name(type(env.unwrapped)),
        "source": None if known is None else _source(known),
    }


def _source(spec: EnvSpec) -> str | None:
    try:
        return env_source(spec)
    except (ImportError, AttributeError):
        return None


def _name(cls: type) -> str:
    return own_name(f"{cls.__module__}:{cls.__qualname__}")


def _git(folder: Path) -> dict[str, Any] | None:
    """Return commit and state of the work tree a folder is in; ``None`` outside of one.

    The commit is read from the repository's files. Only whether files were changed is asked from
    git, without hooks, file-system monitors, locks, or a wait of more than two seconds.
    """
    for parent in (folder, *folder.parents)[:_MOST_PARENTS]:
        if (parent / ".git").exists():
            commit = _commit(parent / ".git")
            return None if commit is None else {"commit": commit, "dirty": _is_dirty(parent)}
    return None


def _commit(git: Path) -> str | None:
    try:
        if git.is_file():  # a work tree of its own, or a submodule: the file says where
            git = (git.parent / git.read_text().removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return _hex(head)
        common = git / "commondir"
        home = (git / common.read_text().strip()).resolve() if common.is_file() else git
        ref = head.removeprefix("ref: ")
        for place in (git, home):
            if (place / ref).is_file():
                return _hex((place / ref).read_text().strip())
        return _packed(home / "packed-refs", ref)
    except (OSError, UnicodeDecodeError):
        return None


def _packed(path: Path, ref: str) -> str | None:
    for line in path.read_text().splitlines():
        name, _, found = line.partition(" ")
        if found == ref:
            return _hex(name)
    return None


def _hex(text: str) -> str | None:
    is_name = len(text) in (40, 64) and set(text) <= set("0123456789abcdef")
    return text if is_name else None


def _is_dirty(tree: Path) -> bool | None:
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "--no-optional-locks", "-c", "core.fsmonitor=false"]
    command += ["-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"]
    command += ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"]
    try:
        done = subprocess.run(  # noqa: S603, the arguments are fixed
            command,
            cwd=tree,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return bool(done.stdout.strip()) if done.returncode == 0 else None


_DYNAMICS = {
    "gymnasium": ("gymnasium.envs.", "gymnasium.wrappers."),
    "ludus": ("ludus.envs.", "ludus.kernel.math", "ludus.kernel.random", "ludus.wrappers."),
}
"""Of packages on which environments stand, the modules that dynamics are written in."""


@cache
def package_source() -> str:
    """Return the SHA-256 of Ludus' own Python files, as they are on disk; read once."""
    root = Path(__file__).resolve().parents[2]
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(f"{path.relative_to(root).as_posix()} {_file_hash(path)}\n".encode())
    return found.hexdigest()


def env_source(spec: EnvSpec, layers: Iterable[type] = ()) -> str | None:
    """Return the SHA-256 of the source files that an environment's dynamics are written in.

    These are the modules of the registered entry points, of their base classes and of the wrappers
    (``layers`` adds classes), and all modules of the same packages that these take functions,
    classes or constants from. What every environment relies on (``ludus.core``, ``ludus.spaces``,
    the engine that compiles kernels, the base classes of Gymnasium) is left out. The hash is the
    same under every version of Python and NumPy. ``None`` if some of the code has no source file.

    Raises:
        ImportError, AttributeError: An entry point leads nowhere.
    """
    creators = [_resolved(point) for point in (spec.entry_point, spec.vector_entry_point) if point]
    creators += [load_env_creator(wrapper.entry_point) for wrapper in spec.additional_wrappers]
    names: set[str] = set()
    for creator in (*creators, *layers):
        for name in _modules_behind(creator):
            _gather(name, name.partition(".")[0], names)
    lines = []
    for name in sorted(names):
        file = getattr(sys.modules[name], "__file__", None)
        if file is None or not file.endswith(".py"):
            return None
        lines.append(f"{name} {_file_hash(Path(file))}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else None


def _resolved(entry_point: Callable[..., Any] | str) -> Any:
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def _modules_behind(creator: Any) -> list[str]:
    """Return the names of the modules behind a class, a method of one, or a function."""
    owner = getattr(creator, "__self__", None)
    cls = creator if isinstance(creator, type) else owner if isinstance(owner, type) else None
    owners = [creator] if cls is None else cls.__mro__
    return [_module_of(base) for base in owners if hasattr(base, "__module__")]


def _module_of(value: Any) -> str:
    """Return the module of a class or function by Ludus's own name, also while it is served."""
    return own_name(f"{value.__module__}:{value.__qualname__}").partition(":")[0]


def _gather(name: str, package: str, found: set[str]) -> None:
    """Add a module and those of its package that it takes something from."""
    module = sys.modules.get(name)
    if module is None or name in found or not _counts(name, package):
        return
    found.add(name)
    for key, value in list(vars(module).items()):
        if isinstance(value, ModuleType):
            # Importing a submodule binds it in its package; that is no use of it.
            if package == "ludus" or value.__name__ != f"{name}.{key}":
                _gather(value.__name__, package, found)
        elif isinstance(value, type | FunctionType):
            _gather(_module_of(value), package, found)


def _counts(name: str, package: str) -> bool:
    if name.partition(".")[0] != package or package in sys.stdlib_module_names:
        return False
    return package not in _DYNAMICS or name.startswith(_DYNAMICS[package])


def _file_hash(path: Path) -> str:
    status = path.stat()
    return _known_hash(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _known_hash(path: Path, changed: int, size: int) -> str:  # noqa: ARG001, parts of the key
    """Return a file's SHA-256, read again only when it has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
