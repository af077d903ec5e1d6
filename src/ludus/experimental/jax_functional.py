"""Functional environments of kernels with a second implementation in JAX."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, ClassVar

from ludus.experimental.functional import FuncEnv
from ludus.experimental.kernel_functional import KernelFuncEnv

__all__ = ["JaxKernelFuncEnv"]


class JaxKernelFuncEnv(KernelFuncEnv):
    """The functions of a kernel in NumPy and in JAX.

    ``initial`` with a NumPy generator returns a kernel's state, with a key of ``jax.random`` a
    state of JAX arrays; the other functions use the library of their state. The JAX functions can
    be traced, as by ``transform(jax.jit)`` and ``transform(jax.vmap)``, and use single precision.

    Subclasses set :attr:`in_jax`.
    """

    in_jax: ClassVar[str]
    """``"module:class"`` of a :class:`FuncEnv` in JAX, which is built with the kernel's params."""

    @functools.cached_property
    def _twin(self) -> FuncEnv:
        module, _, name = self.in_jax.partition(":")
        built: FuncEnv = getattr(importlib.import_module(module), name)(self.default_params)
        return built

    def _functions(self, value: Any) -> Any:
        """Return the implementation for a key or a state."""
        return self._twin if _is_of_jax(value) else super()

    def initial(self, rng: Any, params: Any = None) -> Any:
        """Return an initial state."""
        return self._functions(rng).initial(rng, params)

    def transition(self, state: Any, action: Any, rng: Any = None, params: Any = None) -> Any:
        """Return the next state; ``rng`` may be omitted if nothing is drawn."""
        return self._functions(state).transition(state, action, rng, params)

    def observation(self, state: Any, rng: Any = None, params: Any = None) -> Any:
        """Return the observation of a state."""
        return self._functions(state).observation(state, rng, params)

    def reward(
        self, state: Any, action: Any, next_state: Any, rng: Any = None, params: Any = None
    ) -> Any:
        """Return the reward of a transition."""
        return self._functions(next_state).reward(state, action, next_state, rng, params)

    def terminal(self, state: Any, rng: Any = None, params: Any = None) -> Any:
        """Return whether a state is terminal."""
        return self._functions(state).terminal(state, rng, params)

    def state_info(self, state: Any, params: Any = None) -> dict[str, Any]:
        """Return the kernel's info about a state; the JAX functions have none."""
        info: dict[str, Any] = self._functions(state).state_info(state, params)
        return info


def _is_of_jax(value: Any) -> bool:
    """Return whether a value, or a part of a tuple, is a JAX array or tracer."""
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, jax.Array) for part in parts)
