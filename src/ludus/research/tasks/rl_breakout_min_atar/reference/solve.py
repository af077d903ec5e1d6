"""Write the few numbers that policy.py plans with, found by trying some."""

from __future__ import annotations

import numpy as np

np.savez(
    "weights.npz",
    risks=np.array([1000.0, 20.0, 3.0, 0.3, 0.0]),
    price=np.array(0.08),
    discount=np.array(0.95),
)
print("wrote weights.npz")
