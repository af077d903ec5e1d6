"""A space that Ludus knows nothing about, for the tests of what users can register."""

from __future__ import annotations

import numpy as np

from ludus.spaces import Space


class Angle(Space):
    """Angles in whole degrees."""

    def __init__(self, seed=None):
        super().__init__((), np.int16, seed)

    is_np_flattenable = True

    def sample(self, mask=None, probability=None):
        return int(self.np_random.integers(360))

    def contains(self, x):
        return isinstance(x, int) and 0 <= x < 360

    def __eq__(self, other):
        return isinstance(other, Angle)

    def __repr__(self):
        return "Angle()"
