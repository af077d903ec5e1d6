"""Compiling what :mod:`ludus.envs.box2d.native_program` loads. Imports numba."""

from __future__ import annotations

from numba import cfunc, njit, types

from ludus.envs.box2d.native_driver import drive
from ludus.envs.box2d.native_engine import CALLBACKS
from ludus.envs.box2d.native_joints import sweep_joints
from ludus.kernel.kept_code import KeptCode
from ludus.kernel.lean_compiler import lean_compiler
from ludus.kernel.native import numba_code

__all__ = ["compile_function"]

_SWEEP_JOINTS = (sweep_joints, types.void(types.int64, types.int64))


def compile_function(name: str) -> KeptCode:
    """Return the code of ``drive``, or of a function that the engine calls."""
    with lean_compiler(lambda called: called.rsplit(".", 1)[-1] != name):
        return _compiled(name)


def _compiled(name: str) -> KeptCode:
    if name == "drive":
        number = types.int64
        signature = number(number, number, number)
        options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return numba_code(njit(signature, **options)(drive))
    function, signature = {**CALLBACKS, "sweep_joints": _SWEEP_JOINTS}[name]
    compiled = cfunc(signature)(function)
    _, _, (code, _) = compiled._library.serialize_using_object_code()
    return KeptCode(compiled._wrapper_name, code)
