"""How exactly results can be compared with NumPy's on this machine."""

from __future__ import annotations

import numpy as np


def fused_trigonometry():
    """Tell whether NumPy's float32 sine and cosine are its vector code with fused multiply-add.

    Kernels compute what that code computes. Without it (NumPy chooses at run time, by the
    processor), NumPy calls the C library, whose last bit may differ.
    """
    introspect = getattr(np.lib, "introspect", None)
    if introspect is None:
        return False
    found = introspect.opt_func_info(func_name="^cos$", signature="float32")
    return not found["cos"]["ff"]["current"].startswith("baseline")


TRIGONOMETRY_ULP = 0 if fused_trigonometry() else 1


def assert_same_start(env_id, ours, theirs):
    """Compare first observations: to the bit, if NumPy's trigonometry allows it."""
    assert ours.dtype == theirs.dtype
    if env_id == "Acrobot-v1" and TRIGONOMETRY_ULP:
        np.testing.assert_array_max_ulp(ours, theirs, maxulp=TRIGONOMETRY_ULP)
    else:
        assert ours.tobytes() == theirs.tobytes()
