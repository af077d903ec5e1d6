"""A kernel's functional environment whose functions take JAX's keys and states as well."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, ClassVar

from ludus.experimental.functional import FuncEnv
from ludus.experimental.kernel_functional import KernelFuncEnv

__all__ = ["JaxKernelFuncEnv"]


class JaxKernelFuncEnv(KernelFuncEnv):
    """The functions of a kernel, and the same functions written in JAX.

    A NumPy generator gives a kernel's state, a key of ``jax.random`` a state of JAX arrays; all
    functions of a state then compute where it came from. Those of JAX can be traced:
    ``transform(jax.jit)`` and ``transform(jax.vmap)`` apply to them. They compute in single
    precision.

    Subclasses set :attr:`in_jax`.
    """

    in_jax: ClassVar[str]
    """``"module:class"`` of a :class:`FuncEnv` in JAX; built with the kernel's params."""

    @functools.cached_property
    def _twin(self) -> FuncEnv:
        module, _, name = self.in_jax.partition(":")
        built: FuncEnv = getattr(importlib.import_module(module), name)(self.default_params)
        return built

    def _functions(self, value: Any) -> Any:
        """Return whose functions a key or a state is for."""
        return self._twin if _is_of_jax(value) else super()

    def initial(self, rng: Any, params: Any = None) -> Any:
        """Draw a first state."""
        return self._functions(rng).initial(rng, params)

    def transition(self, state: Any, action: Any, rng: Any = None, params: Any = None) -> Any:
        """Return the state that follows; ``rng`` may be left out where nothing is drawn."""
        return self._functions(state).transition(state, action, rng, params)

    def observation(self, state: Any, rng: Any = None, params: Any = None) -> Any:
        """Return what the agent sees of a state."""
        return self._functions(state).observation(state, rng, params)

    def reward(
        self, state: Any, action: Any, next_state: Any, rng: Any = None, params: Any = None
    ) -> Any:
        """Return the reward for a transition."""
        return self._functions(next_state).reward(state, action, next_state, rng, params)

    def terminal(self, state: Any, rng: Any = None, params: Any = None) -> Any:
        """Tell whether the episode ends in a state."""
        return self._functions(state).terminal(state, rng, params)

    def state_info(self, state: Any, params: Any = None) -> dict[str, Any]:
        """Return the kernel's info about a state; functions in JAX have none."""
        told: dict[str, Any] = self._functions(state).state_info(state, params)
        return told


def _is_of_jax(value: Any) -> bool:
    """Tell whether a value, or a part of a tuple, is an array of JAX or stands for one."""
    jax = sys.modules.get("jax")
    if jax is None:  # then there are no such arrays
        return False
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, jax.Array) for part in parts)
