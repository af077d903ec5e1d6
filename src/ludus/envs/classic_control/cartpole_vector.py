"""Batches of CartPoles: with one random generator as in Gymnasium, or with one each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.state import refusing_damage, rng_from_plain, rng_to_plain
from ludus.core.vector_env import VectorEnv
from ludus.envs.classic_control.array_state_vector import ArrayStateVectorEnv, share_parameters
from ludus.envs.classic_control.cartpole import CartPoleEnv, Params, State
from ludus.envs.reset_options import with_reset_bounds

__all__ = ["CartPoleBatch", "CartPoleVectorEnv"]


class CartPoleVectorEnv(ArrayStateVectorEnv):
    """Many CartPoles that draw their first states from one random stream.

    A seed gives the states, in the same order, that Gymnasium's class gives, and rewards are
    float32 as there. ``make_vec("CartPole-v1", n)`` builds the subclass :class:`CartPoleBatch`.

    Args:
        num_envs: How many.
        max_episode_steps: Steps after which an episode is truncated.
        render_mode: ``rgb_array``.
        sutton_barto_reward: Reward 0 per step and -1 for a fall, instead of 1 per step.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012
    np_random = VectorEnv.np_random
    np_random_seed = VectorEnv.np_random_seed

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int = 500,
        render_mode: str | None = None,
        sutton_barto_reward: bool = False,
    ) -> None:
        env = CartPoleEnv(sutton_barto_reward, render_mode)
        super().__init__(env, num_envs, max_episode_steps=max_episode_steps)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self._bounds: Params = env.params

    @property
    def prev_done(self) -> np.ndarray[Any, Any]:
        """Which environments begin a new episode with the next step."""
        return np.array(self._storage.waiting[: self.num_envs], dtype=np.bool_)

    def reset(
        self,
        *,
        seed: Any = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments; the options ``low`` and ``high`` apply until the next reset.

        Raises:
            OverflowError, ValueError: An option is not a finite number, or low exceeds high.
        """
        bounds = with_reset_bounds(self.env.params, options)
        VectorEnv.reset(self, seed=seed)
        self._bounds = bounds
        super().reset()
        self._restart(np.arange(self.num_envs))
        return self._observe(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by its action, or reset it if its episode is over."""
        over = np.flatnonzero(self._storage.waiting[: self.num_envs])
        observations, rewards, terminated, truncated, infos = super().step(actions)
        if over.size:
            self._restart(over)
            observations = self._observe()
        return observations, rewards.astype(np.float32), terminated, truncated, infos

    def _restart(self, chosen: Any) -> None:
        low, high = self._bounds.initial_low, self._bounds.initial_high
        self._place(chosen, self.np_random.uniform(low, high, (4, len(chosen))))

    def _place(self, chosen: Any, states: Any) -> None:
        columns = self._storage.columns()
        for name, numbers in zip(State._fields, states, strict=True):
            columns[name][chosen] = numbers
        self._storage.observations[:, chosen] = states

    def rollout(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: compiled loops need a random generator per environment.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "CartPoleVectorEnv draws from one stream, which a compiled rollout cannot do; use "
            "ludus.make_vec('CartPole-v1', num_envs), whose environments have streams of their own."
        )

    def get_state(self) -> dict[str, Any]:
        """Return every environment's state and the random stream as plain data."""
        return {
            **super().get_state(),
            "rng": rng_to_plain(self.np_random, self.np_random_seed),
            "bounds": [self._bounds.initial_low, self._bounds.initial_high],
        }

    @refusing_damage
    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the state that :meth:`get_state` returned."""
        super().set_state(state)
        self._np_random, self._np_random_seed = rng_from_plain(state["rng"])
        low, high = state["bounds"]
        self._bounds = self.env.params._replace(initial_low=low, initial_high=high)


share_parameters(CartPoleVectorEnv, CartPoleEnv)
_Own: Any = CartPoleVectorEnv.__base__


class CartPoleBatch(CartPoleVectorEnv):
    """Many CartPoles with a random stream each: what ``make_vec("CartPole-v1", n)`` builds.

    Environment ``i`` is seeded by ``seed + i``, so that the batch returns the same as ``n`` single
    environments. Unlike :class:`CartPoleVectorEnv` it supports all autoreset modes and rollouts,
    and has float64 rewards; it is a subclass because programs test for that.

    Args:
        env: The environment whose kernel and params the batch has.
        num_envs: How many.
        **kwargs: The arguments of :class:`~ludus.kernel.KernelVectorEnv`.
    """

    np_random = _Own.np_random
    np_random_seed = _Own.np_random_seed
    reset = _Own.reset
    step = _Own.step
    rollout = _Own.rollout
    get_state = _Own.get_state
    set_state = _Own.set_state

    def __init__(self, env: CartPoleEnv, num_envs: int = 1, **kwargs: Any) -> None:
        _Own.__init__(self, env, num_envs, **kwargs)
