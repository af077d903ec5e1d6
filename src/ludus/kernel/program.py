"""A kernel made ready to run: its driver, compiled or as plain Python."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import tempfile
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from ludus.errors import KernelError
from ludus.kernel.contract import Kernel
from ludus.kernel.jit import compiled, jit_enabled
from ludus.kernel.source import driver_source
from ludus.kernel.words_rng import WordsRng
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from ludus.version import __version__

__all__ = ["Program", "action_kinds", "program_drawing_from", "program_for", "row_count"]

_programs: dict[tuple[int, bool, tuple[str, ...], int], Program] = {}
_kept: list[Kernel] = []


class Program:
    """The functions of a kernel's driver: ``reset``, ``observe``, ``step`` and the others."""

    def __init__(
        self,
        kernel: Kernel,
        actions: tuple[str, ...],
        rows: int,
        *,
        jit: bool,
        generator: np.random.Generator | None = None,
    ) -> None:
        """Make the driver; plain Python may draw from a generator that is not a PCG64."""
        self.kernel = kernel
        self._generator = generator
        self.jit = jit
        text = driver_source(kernel, list(actions), rows)
        tag = f"_{_digest(kernel, text)}"
        self.text = text.replace("__TAG__", tag)
        self._policies: dict[Any, Any] = {}
        namespace = self._compiled_parts(tag) if jit else self._plain_parts()
        # Code loaded from disk imports the module its function says it comes from.
        namespace["__name__"] = __name__
        path = _source_file(kernel, tag, self.text) if jit else f"<driver of {kernel.name}>"
        exec(compile(self.text, str(path), "exec"), namespace)  # noqa: S102 - text made above
        self._namespace = namespace
        for name in ("reset", "observe", "step", "step_one", "rollout"):
            function = namespace[f"{name}{tag}"]
            setattr(self, name, _explained(kernel, function) if jit else function)
        self.fast_step_one = namespace[f"step_one{tag}"]
        """``step_one`` without the translation of compile errors, for once it has run."""
        self.fast_step = namespace[f"step{tag}"]

    reset: Any
    observe: Any
    step: Any
    step_one: Any
    rollout: Any

    def rollout_policy(self, policy: Any) -> Any:
        """Return the rollout loop with a policy built in."""
        if policy not in self._policies:
            inner = policy
            if self.jit and isinstance(policy, FunctionType):
                inner = compiled(policy, self._memo, "")
            self._policies[policy] = self._namespace["rollout_policy"](inner)
        return self._policies[policy]

    def _parts(self) -> dict[str, Any]:
        kernel = self.kernel
        parts = {
            "_initial": kernel.initial,
            "_transition": kernel.transition,
            "_observation": kernel.observation,
            "_reward": kernel.reward,
            "_terminal": kernel.terminal,
        }
        if kernel.info is not None:
            parts["_info"] = kernel.info
        return parts

    def _plain_parts(self) -> dict[str, Any]:
        def unchanged(function: Any) -> Any:
            return function

        return {
            **self._parts(),
            "_Params": self.kernel.params,
            "_State": self.kernel.state,
            "_rng": WordsRng if self._generator is None else lambda _words, _i: self._generator,
            "_jit": unchanged,
            "_main": unchanged,
        }

    def _compiled_parts(self, tag: str) -> dict[str, Any]:
        from numba import njit

        from ludus.kernel.compiled_random import REPLACEMENTS

        self._memo: dict[Any, Any] = dict(REPLACEMENTS)
        # A state may have been set from outside; where it is used as an index, it is checked.
        fields = (*self.kernel.state_fields, *self.kernel.param_fields)
        checked = any(field.kind == "array" for field in fields)
        parts = {
            name: compiled(part, self._memo, tag, check_indices=checked)
            for name, part in self._parts().items()
        }

        @njit(error_model="numpy")  # type: ignore[untyped-decorator]
        def column(words: Any, i: int) -> Any:
            return words[:, i]

        return {
            **parts,
            "_Params": self.kernel.params,
            "_State": self.kernel.state,
            "_rng": column,
            "_jit": njit(error_model="numpy", nogil=True),
            "_main": njit(error_model="numpy", nogil=True, cache=True),
        }


def program_for(kernel: Kernel, observation: Space[Any], action: Space[Any]) -> Program:
    """Return the kernel's program, made once per process and mode.

    Raises:
        KernelError: A space is of a kind that kernels do not support.
    """
    actions, rows = action_kinds(kernel, action), row_count(kernel, observation)
    key = (id(kernel), jit_enabled(), tuple(actions), rows)
    if key not in _programs:
        _kept.append(kernel)  # so that its id stays its own
        _programs[key] = Program(kernel, tuple(actions), rows, jit=jit_enabled())
    return _programs[key]


def program_drawing_from(
    kernel: Kernel, observation: Space[Any], action: Space[Any], generator: np.random.Generator
) -> Program:
    """Return a plain-Python program that draws from any NumPy generator."""
    actions, rows = action_kinds(kernel, action), row_count(kernel, observation)
    return Program(kernel, tuple(actions), rows, jit=False, generator=generator)


def action_kinds(kernel: Kernel, space: Space[Any]) -> list[str]:
    """Return ``"int"`` or ``"float"`` for each number of an action."""
    if isinstance(space, Discrete):
        return ["int"]
    if isinstance(space, Tuple) and all(isinstance(part, Discrete) for part in space.spaces):
        return ["int"] * len(space.spaces)
    if isinstance(space, MultiDiscrete | MultiBinary) and len(space.shape) == 1:
        return ["int"] * space.shape[0]
    if isinstance(space, Box) and len(space.shape) == 1:
        return ["float" if space.dtype.kind == "f" else "int"] * space.shape[0]
    raise KernelError(
        f"Kernel {kernel.name}: actions of {space} are not supported; use Discrete, MultiDiscrete, "
        "a one-dimensional Box, or a Tuple of Discrete."
    )


def row_count(kernel: Kernel, space: Space[Any]) -> int:
    """Return how many numbers an observation has; 0 if the kernel fills an array."""
    if kernel.writes_observation:
        return 0
    if isinstance(space, Discrete):
        return 1
    if isinstance(space, Tuple):
        return sum(1 if isinstance(part, Discrete) else _size(part) for part in space.spaces)
    if isinstance(space, Box | MultiDiscrete | MultiBinary) and len(space.shape) == 1:
        return int(space.shape[0])
    raise KernelError(
        f"Kernel {kernel.name}: observations of {space} do not fit numbers; write "
        "observation(params, state, out) instead."
    )


def _size(space: Space[Any]) -> int:
    return int(np.prod(space.shape)) if space.shape else 1


def _explained(kernel: Kernel, function: Any) -> Any:
    """Return the compiled function, its compile errors told in terms of the kernel."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as problem:
            if type(problem).__module__.startswith("numba"):
                from ludus.kernel.diagnosis import explain

                raise explain(kernel, problem) from problem
            raise

    return call


def _digest(kernel: Kernel, text: str) -> str:
    """Return a hash of everything that a kernel's compiled code is made from.

    Compiled code on disk knows nothing of the functions it was built from, so their sources are
    part of its name, and so are the versions of what compiled them.
    """
    from importlib.metadata import version

    versions = (__version__, version("numba"), np.__version__, sys.version, "checked indices")
    digest = hashlib.sha256()
    for part in (text, _sources(kernel), *versions):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _source_file(kernel: Kernel, tag: str, text: str) -> Path:
    """Write the driver to a file, beside which its compiled form is kept."""
    folder = cache_folder()
    name = "".join(c if c.isalnum() else "_" for c in kernel.name.lower())
    path = folder / f"{name}{tag}.py"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, suffix=".tmp") as file:
            file.write(text)
        Path(file.name).replace(path)
    return path


def cache_folder() -> Path:
    """Return the folder for compiled kernels: ``LUDUS_CACHE``, or below the user's cache."""
    base = os.environ.get("LUDUS_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "ludus" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"ludus-kernels-{os.getuid()}"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sources(kernel: Kernel) -> str:
    """Return the sources of the modules that the kernel's functions come from."""
    texts = []
    seen: set[Any] = set()

    def visit(function: Any) -> None:
        if function in seen or not isinstance(function, FunctionType):
            return
        seen.add(function)
        try:
            texts.append(inspect.getsource(function))
        except (OSError, TypeError):
            texts.append(repr(function.__code__.co_code) + repr(function.__code__.co_consts))
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType):
                visit(value)
            elif isinstance(value, int | float | bool | tuple):
                texts.append(f"{name}={value!r}")

    for role in ("initial", "transition", "observation", "reward", "terminal", "info"):
        visit(getattr(kernel, role))
    texts.append(repr((kernel.param_fields, kernel.state_fields, kernel.info_fields)))
    return "\n".join(texts)
