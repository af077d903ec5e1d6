"""Adapter from a Ludus environment to the classic API, with Gym's random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ludus.classic.core import Env
from ludus.classic.error import UnsupportedMode
from ludus.classic.utils.seeding import checked_seed, seed_words
from ludus.core import env as modern
from ludus.core.forwarding import ForwardsAttributes

__all__ = ["ClassicGenerator", "FromLudus", "classic_generator"]

_OWN_ALGORITHM = (
    "beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma",
    "geometric", "gumbel", "hypergeometric", "laplace", "logistic", "lognormal", "logseries",
    "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare",
    "noncentral_f", "normal", "pareto", "permutation", "poisson", "power", "rayleigh", "shuffle",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t",
    "triangular", "vonmises", "wald", "weibull", "zipf",
)  # fmt: skip
"""Methods that return other numbers in ``Generator`` than in ``RandomState``."""


class ClassicGenerator(np.random.Generator):
    """A ``Generator`` that draws the numbers of a ``RandomState``.

    ``integers`` returns the numbers of ``randint``, and so on. The old methods (``rand``,
    ``randint``, ``randn``, …) are available as well.
    """

    def __init__(self, bit_generator: np.random.BitGenerator) -> None:
        super().__init__(bit_generator)
        self._random_state = np.random.RandomState(bit_generator)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Draw integers as ``RandomState.randint`` does."""
        if high is None:
            low, high = 0, low
        return self._random_state.randint(low, high + 1 if endpoint else high, size, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._random_state, name)

    def __reduce__(self) -> Any:
        # A second normal number may be cached; it is not part of the bit generator's state.
        return _rebuilt, (self.bit_generator, self._random_state.get_state(legacy=False))


def _as_before(name: str) -> Callable[..., Any]:
    def method(self: ClassicGenerator, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._random_state, name)(*args, **kwargs)

    return method


for _name in _OWN_ALGORITHM:
    setattr(ClassicGenerator, _name, _as_before(_name))


def _rebuilt(bit_generator: np.random.BitGenerator, state: Any) -> ClassicGenerator:
    generator = ClassicGenerator(bit_generator)
    generator._random_state.set_state(state)
    return generator


def classic_generator(seed: int | None = None) -> tuple[ClassicGenerator, int]:
    """Return a generator seeded with Gym's algorithm, and the seed used.

    Raises:
        Error: The seed is not a non-negative int.
    """
    used = checked_seed(seed)
    generator = ClassicGenerator(np.random.MT19937())
    generator._random_state.seed(seed_words(used))
    return generator, used


class FromLudus(ForwardsAttributes, Env):
    """A Ludus environment with the API of classic Gym.

    ``seed`` sets a generator with Gym's random numbers, so an environment that Gym also had has the
    same initial states. Attributes that the adapter lacks, such as the spaces, are those of the
    environment.
    """

    _inner_name: ClassVar[str] = "ludus_env"
    ludus_env: modern.Env[Any, Any]

    def __init__(self, env: modern.Env[Any, Any]) -> None:
        self.metadata = _classic_metadata(env.metadata)
        self.spec = env.spec
        self._shown_mode: str | None = None
        # Last, because from here on attributes that the environment has are set there.
        self.ludus_env = env

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest possible reward."""
        return getattr(self.ludus_env, "reward_range", Env.reward_range)

    @reward_range.setter
    def reward_range(self, value: tuple[float, float]) -> None:
        self.ludus_env.unwrapped.reward_range = value  # type: ignore[attr-defined]

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step; a truncation sets ``info["TimeLimit.truncated"]``."""
        observation, reward, terminated, truncated, info = self.ludus_env.step(action)
        if truncated:
            info["TimeLimit.truncated"] = not terminated
        return observation, float(reward), bool(terminated or truncated), info

    def reset(self) -> Any:
        """Reset and return the observation."""
        return self.ludus_env.reset()[0]

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed with Gym's algorithm.

        Raises:
            Error: The seed is not a non-negative int.
        """
        self.ludus_env.np_random, used = classic_generator(seed)
        return [used]

    def render(self, mode: str = "human", close: bool = False) -> Any:
        """Render in one of the environment's modes.

        Raises:
            UnsupportedMode: The environment does not support the mode.
        """
        if close:
            self.ludus_env.close()
            return None
        modes = self.metadata["render.modes"]
        if mode not in modes:
            raise UnsupportedMode(f"Unsupported rendering mode: {mode!r}; {self} supports {modes}.")
        env = self.ludus_env.unwrapped
        if self._shown_mode not in (None, mode):
            env.close()  # a window or canvas belongs to one mode
        self._shown_mode = mode
        # The mode is reset, because the environment would otherwise render in every step.
        chosen, env.render_mode = env.render_mode, mode
        try:
            return env.render()
        finally:
            env.render_mode = chosen

    def close(self) -> None:
        """Close the environment."""
        self.ludus_env.close()

    def __str__(self) -> str:
        return str(self.ludus_env)


def _classic_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    classic = {**metadata, "render.modes": list(metadata.get("render_modes", []))}
    if "render_fps" in metadata:
        classic["video.frames_per_second"] = metadata["render_fps"]
    return classic
