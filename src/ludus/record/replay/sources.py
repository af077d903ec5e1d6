"""Names for the code that an environment runs: hashes of source files."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.registration.entry_point import load_env_creator
from ludus.served_names import own_name

__all__ = ["env_source", "package_source"]

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

    These are the modules of what the entry points lead to, of its base classes and of the
    wrappers, and all modules of the same packages that these take functions, classes or constants
    from. What every environment stands on (``ludus.core``, ``ludus.spaces``, the engine that
    compiles kernels, the base classes of Gymnasium) is not among them. It is a name for source
    text, the same under every version of Python and NumPy. ``None`` if some of the code has no
    source file.

    Args:
        spec: As registered here; its entry points are resolved.
        layers: Further classes, for instance those of wrappers.

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
            # Whoever imports a submodule binds it in its package, which tells nothing of that.
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
