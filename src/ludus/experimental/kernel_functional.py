"""Functional environments of kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.experimental.functional import FuncEnv
from ludus.kernel import Kernel
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete

__all__ = ["KernelFuncEnv"]


class KernelFuncEnv(FuncEnv[Any, Any, Any, float, bool, Any, Any]):
    """A :class:`~ludus.kernel.Kernel` as a :class:`FuncEnv`.

    Subclasses set :attr:`kernel`. State and params are the kernel's NamedTuples, ``rng`` is a NumPy
    generator. A transition does not modify its state, arrays included.

    Args:
        options: Attributes to set.
    """

    kernel: ClassVar[Kernel]

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        super().__init__(options)
        spaces = self.kernel.spaces(self.default_params)
        self.observation_space, self.action_space = spaces

    def get_default_params(self, **kwargs: Any) -> Any:
        """Return the kernel's params, with the given ones replaced."""
        return self.kernel.params(**kwargs)

    def initial(self, rng: Any, params: Any = None) -> Any:
        """Return an initial state."""
        params = self._params(params)
        if not self.kernel.keeps_state:
            return self.kernel.initial(params, rng)
        return self.kernel.initial(params, self._blank(params), rng)

    def transition(self, state: Any, action: Any, rng: Any = None, params: Any = None) -> Any:
        """Return the next state; ``rng`` may be omitted if nothing is drawn."""
        copied = type(state)(*(x.copy() if isinstance(x, np.ndarray) else x for x in state))
        return self.kernel.transition(self._params(params), copied, self._action(action), rng)

    def observation(self, state: Any, rng: Any = None, params: Any = None) -> Any:
        """Return the observation of a state, as an element of the observation space."""
        params, space = self._params(params), self.observation_space
        if self.kernel.writes_observation:
            out: np.ndarray[Any, Any] = np.zeros(space.shape or (), space.dtype)
            self.kernel.observation(params, state, out)
            return out
        seen = self.kernel.observation(params, state)
        if isinstance(space, Box | MultiDiscrete | MultiBinary):
            return np.array(seen, space.dtype).reshape(space.shape)
        return seen

    def reward(
        self, state: Any, action: Any, next_state: Any, rng: Any = None, params: Any = None
    ) -> float:
        """Return the reward of a transition."""
        params, action = self._params(params), self._action(action)
        return float(self.kernel.reward(params, state, action, next_state))

    def terminal(self, state: Any, rng: Any = None, params: Any = None) -> bool:
        """Return whether a state is terminal."""
        return bool(self.kernel.terminal(self._params(params), state))

    def state_info(self, state: Any, params: Any = None) -> dict[str, Any]:
        """Return the kernel's info about a state."""
        if self.kernel.info is None:
            return {}
        info: dict[str, Any] = self.kernel.info(self._params(params), state)._asdict()
        return info

    def transition_info(
        self, state: Any, action: Any, next_state: Any, params: Any = None
    ) -> dict[str, Any]:
        """Return the kernel's info about the next state."""
        return self.state_info(next_state, params)

    def _params(self, params: Any) -> Any:
        return self.default_params if params is None else params

    def _action(self, action: Any) -> Any:
        """Return an action as kernels expect it: a single int as a number, else a tuple."""
        if isinstance(self.action_space, Discrete):
            return int(action)
        numbers = tuple(np.asarray(action).ravel().tolist())
        whole = isinstance(self.action_space, Box) and self.action_space.dtype.kind in "iu"
        return numbers[0] if whole and len(numbers) == 1 else numbers

    def _blank(self, params: Any) -> Any:
        """Return a state of zeros for ``initial`` to fill."""
        shapes = self.kernel.state_arrays(params) if self.kernel.state_arrays else {}
        zero = {"float": 0.0, "int": 0, "bool": False}
        return self.kernel.state(
            *(
                np.zeros(*shapes[field.name]) if field.kind == "array" else zero[field.kind]
                for field in self.kernel.state_fields
            )
        )
