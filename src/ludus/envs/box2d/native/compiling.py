"""Compiling what :mod:`ludus.envs.box2d.native.program` loads. Imports numba."""

from __future__ import annotations

from collections.abc import Mapping

from numba import cfunc, njit, types

from ludus.envs.box2d.native.driver import drive
from ludus.envs.box2d.native.engine import CALLBACKS
from ludus.envs.box2d.native.joints import sweep_joints
from ludus.kernel.native.cache import ObjectCode
from ludus.kernel.native.calls import library_code, numba_code
from ludus.kernel.native.load import bindings

__all__ = ["compile_function"]

_SWEEP_JOINTS = (sweep_joints, types.void(types.int64, types.int64))


def compile_function(name: str, places: Mapping[str, int]) -> ObjectCode:
    """Return the code of ``drive``, or of a function that the engine calls.

    Args:
        name: The function.
        places: Addresses of the engine's functions.
    """
    # Numba loads what it compiles, though nobody calls it there, and finds names in the process.
    for symbol, address in places.items():
        if bindings().address_of_symbol(symbol) is None:
            bindings().add_symbol(symbol, address)
    if name == "drive":
        number = types.int64
        signature = number(number, number, number)
        options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return numba_code(njit(signature, **options)(drive))
    function, signature = {**CALLBACKS, "sweep_joints": _SWEEP_JOINTS}[name]
    compiled = cfunc(signature)(function)
    return library_code(compiled._library, compiled._wrapper_name)
