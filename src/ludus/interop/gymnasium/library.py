"""Import of Gymnasium; raises DependencyNotInstalled if it is missing or too old."""

from __future__ import annotations

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled
from ludus.optional import missing

__all__ = ["gymnasium"]

OLDEST = (1, 1)
"""The first version with ``AutoresetMode`` and ``set_wrapper_attr(force=...)``."""

try:
    import gymnasium
    import gymnasium.vector
except ImportError as problem:
    purpose = "Converting to and from Gymnasium"
    raise missing("Gymnasium", extra="gymnasium", purpose=purpose) from problem

if tuple(int(part) for part in gymnasium.__version__.split(".")[:2]) < OLDEST:
    raise DependencyNotInstalled(
        f"Gymnasium {gymnasium.__version__} is installed, but {OLDEST[0]}.{OLDEST[1]} or later is "
        f"needed; run `{pip_install('gymnasium', upgrade=True)}`"
    )
