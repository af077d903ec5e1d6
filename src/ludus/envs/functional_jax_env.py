"""Environments, single and batched, from functions written in JAX.

Keys are split in Gymnasium's order, so that a seed gives the same numbers. Functions are not
compiled; for that, call ``func_env.transform(jax.jit)`` first.
"""

from __future__ import annotations

import copy
from typing import Any, Generic, TypeAlias

import numpy as np

from ludus.core.env import Env
from ludus.core.spec import EnvSpec
from ludus.core.types import ActType, ObsType
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import ResetNeeded
from ludus.experimental.functional import FuncEnv, StateType
from ludus.experimental.jax_functional import JaxKernelFuncEnv
from ludus.experimental.kernel_functional import KernelFuncEnv
from ludus.optional import require
from ludus.seeding import np_random
from ludus.spaces import batch_space

__all__ = ["FunctionalJaxEnv", "FunctionalJaxVectorEnv", "PRNGKeyType"]

PRNGKeyType: TypeAlias = Any
"""A key of ``jax.random``; JAX is not imported for a name in annotations."""


def _draws_from_numpy(func_env: FuncEnv) -> bool:
    """Return whether functions take no keys of JAX."""
    return isinstance(func_env, KernelFuncEnv) and not isinstance(func_env, JaxKernelFuncEnv)


class _OnFunctions:
    """Base class of one environment and of a batch: functions, a state, a key and rendering."""

    func_env: FuncEnv
    render_mode: str | None
    render_state: Any
    rng: PRNGKeyType

    def _adopt(self, func_env: FuncEnv, render_mode: str | None) -> None:
        self._set_key(int(np_random()[0].integers(0, 2**32 - 1, dtype=np.uint32)))
        self.func_env = func_env
        self.render_mode = render_mode
        self.render_state = func_env.render_init() if render_mode == "rgb_array" else None

    @property
    def _jax(self) -> Any:
        # Not an attribute, because modules cannot be copied or pickled.
        return require("jax", extra="jax")

    def _set_key(self, seed: int | None) -> None:
        if seed is not None:
            self.rng = self._jax.random.PRNGKey(seed)

    def _next_key(self) -> PRNGKeyType:
        key, self.rng = self._jax.random.split(self.rng)
        return key

    def _check_started(self, method: str) -> None:
        if not hasattr(self, "state"):
            raise ResetNeeded(
                f"Cannot call {type(self).__name__}.{method}() before the first reset()."
            )

    def render(self) -> Any:
        """Return the functions' rendering of the state.

        Raises:
            NotImplementedError: ``render_mode`` is not ``"rgb_array"``.
            ResetNeeded: There is no state yet.
        """
        if self.render_mode != "rgb_array":
            raise NotImplementedError(
                f"render_mode is {self.render_mode!r}, which cannot be drawn; build the "
                "environment with render_mode='rgb_array'."
            )
        self._check_started("render")
        state: Any = self.state  # type: ignore[attr-defined]
        self.render_state, image = self.func_env.render_image(state, self.render_state)
        return image

    def _close_picture(self) -> None:
        if self.render_state is not None:
            self.func_env.render_close(self.render_state)
            self.render_state = None


class FunctionalJaxEnv(_OnFunctions, Env[Any, Any], Generic[StateType]):
    """An environment that keeps the state between calls of a :class:`FuncEnv`'s functions.

    Observations and infos are what the functions return. A :class:`KernelFuncEnv` that has no
    functions in JAX draws from a NumPy generator, created from each key.

    Args:
        func_env: The functions.
        metadata: By default no render modes, and ``"jax": True``, which says that observations
            are JAX arrays.
        render_mode: ``"rgb_array"`` to have the functions draw.
        spec: The spec it is built from.

    Raises:
        DependencyNotInstalled: JAX is not installed.
    """

    state: StateType

    def __init__(
        self,
        func_env: FuncEnv,
        metadata: dict[str, Any] | None = None,
        render_mode: str | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        self._adopt(func_env, render_mode)
        self.observation_space = func_env.observation_space
        self.action_space = func_env.action_space
        self.metadata = {"render_modes": [], "jax": True} if metadata is None else metadata
        self.spec = spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw an initial state; with a seed, start a new sequence of keys."""
        super().reset(seed=seed)
        self._set_key(seed)
        rng = self._source()
        self.state = self.func_env.initial(rng)
        seen = self.func_env.observation(self.state, rng)
        return seen, self.func_env.state_info(self.state)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance the state; all functions receive the same key.

        Raises:
            ResetNeeded: There is no state yet.
        """
        self._check_started("step")
        functions, state, rng = self.func_env, self.state, self._source()
        following = functions.transition(state, action, rng)
        seen = functions.observation(following, rng)
        reward = float(functions.reward(state, action, following, rng))
        terminated = bool(functions.terminal(following, rng))
        info = functions.transition_info(state, action, following)
        self.state = following
        return seen, reward, terminated, False, info

    def close(self) -> None:
        """Release the resources of rendering."""
        self._close_picture()

    def _source(self) -> Any:
        key = self._next_key()
        if _draws_from_numpy(self.func_env):
            return np.random.default_rng(np.asarray(key))
        return key


class FunctionalJaxVectorEnv(
    _OnFunctions, VectorEnv[ObsType, ActType, Any], Generic[ObsType, ActType, StateType]
):
    """A batch of a :class:`FuncEnv`'s states, stepped by its functions under ``jax.vmap``.

    The state is an array, or any tree of arrays, with one row per environment. An environment whose
    episode has ended is reset at the next step, which ignores its action and has reward 0. Infos
    are those that the functions return, row by row.

    Args:
        func_env: The functions; :attr:`func_env` is a batched copy of the object.
        num_envs: How many environments.
        max_episode_steps: After how many steps episodes are truncated; 0 for never.
        metadata: By default the autoreset mode alone.
        render_mode: ``"rgb_array"`` to have the functions draw, from the batch of states.
        spec: The spec it is built from.

    Raises:
        DependencyNotInstalled: JAX is not installed.
        TypeError: The functions are a kernel's, which JAX cannot batch.
    """

    state: StateType

    def __init__(
        self,
        func_env: FuncEnv,
        num_envs: int,
        max_episode_steps: int = 0,
        metadata: dict[str, Any] | None = None,
        render_mode: str | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        if _draws_from_numpy(func_env):
            raise TypeError(
                f"{type(func_env).__name__} has the functions of a kernel, which jax.vmap cannot "
                "batch; expected functions written in JAX. Kernels have batches of their own: see "
                "ludus.make_vec and KernelEnv.vector."
            )
        self._adopt(copy.copy(func_env), render_mode)
        self.func_env.transform(self._jax.vmap)
        self.num_envs = num_envs
        self.single_observation_space = func_env.observation_space
        self.single_action_space = func_env.action_space
        self.observation_space = batch_space(func_env.observation_space, num_envs)
        self.action_space = batch_space(func_env.action_space, num_envs)
        if metadata is None:
            metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.metadata = metadata
        self.spec = spec
        self.time_limit = max_episode_steps
        self._forget_episodes()

    def _forget_episodes(self) -> None:
        jnp = self._jax.numpy
        self.steps = jnp.zeros(self.num_envs, jnp.int32)
        self.prev_done = jnp.zeros(self.num_envs, jnp.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Draw initial states for all; with a seed, start a new sequence of keys."""
        super().reset(seed=seed)
        self._set_key(seed)
        keys = self._jax.random.split(self._next_key(), self.num_envs)
        self.state = self.func_env.initial(keys)
        self._forget_episodes()
        seen = self.func_env.observation(self.state, keys)
        return seen, self.func_env.state_info(self.state)

    def step(self, action: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Advance the states, or draw initial ones where an episode has ended.

        Raises:
            ResetNeeded: There are no states yet.
        """
        self._check_started("step")
        functions, state, split = self.func_env, self.state, self._jax.random.split
        keys = split(self._next_key(), self.num_envs)
        following = functions.transition(state, action, keys)
        reward = functions.reward(state, action, following, keys)
        terminated = functions.terminal(following, keys)
        info = functions.transition_info(state, action, following)

        self.steps += 1
        jnp = self._jax.numpy
        truncated = jnp.zeros_like(terminated)
        if self.time_limit > 0:
            truncated = self.steps >= self.time_limit
        if self.prev_done.any():
            following = self._begin_anew(following)
            self.steps, reward, terminated, truncated = (
                jnp.where(self.prev_done, jnp.zeros_like(x), x)
                for x in (self.steps, reward, terminated, truncated)
            )
        self.prev_done = jnp.logical_or(terminated, truncated)
        self.state = following
        # Gymnasium does not advance the key for observations.
        seen = functions.observation(following, split(self.rng, self.num_envs))
        return seen, reward, terminated, truncated, info

    def _begin_anew(self, states: Any) -> Any:
        """Return the states, with initial ones for the episodes that have ended."""
        (rows,) = self._jax.numpy.nonzero(self.prev_done)
        fresh = self.func_env.initial(self._jax.random.split(self._next_key(), len(rows)))
        return self._jax.tree.map(lambda old, new: old.at[rows].set(new), states, fresh)

    def close_extras(self, **kwargs: Any) -> None:
        """Release the resources of rendering."""
        self._close_picture()
