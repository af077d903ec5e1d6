"""A NumPy ``Generator`` that draws the random numbers of classic Gym."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.classic.utils.seeding import checked_seed, seed_words

__all__ = ["ClassicGenerator", "classic_generator"]

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
