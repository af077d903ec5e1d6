"""Compiles native code once, caches it on disk, and loads it in later processes.

Code is specific to a kind of processor, which is part of the file name.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ludus.kernel.native import load
from ludus.kernel.native.abi import is_known
from ludus.kernel.native.builtin import shim_source
from ludus.kernel.native.cache import ObjectCode, cache_folder, keep, kept
from ludus.kernel.native.call.batch import batch_source, batch_symbols
from ludus.kernel.native.call.one import step_symbols
from ludus.kernel.native.call.shared import shared_source
from ludus.kernel.native.cpython import SHIM, builtin_function, symbol_address
from ludus.kernel.native.processor import machine

__all__ = [
    "batch_address",
    "keep_shim",
    "kept_address",
    "library_code",
    "native_address",
    "native_function",
    "numba_code",
    "shared_function",
    "shim_address",
    "shim_path",
    "step_address",
]

# Numba's code refers to the function that frees arrays. It is never called, because the arrays of
# kernels are owned by Python, so numba need not be loaded.
_FREE = "NRT_MemInfo_call_dtor"
Raiser = Callable[[int], Any]
"""Raises the exception of the numba record at an address."""

# Keeps the functions that native code refers to alive.
_raisers: dict[int, Raiser] = {}


def native_address(path: Path, build: Callable[[], ObjectCode]) -> int:
    """Return the address of a function, from the cache if possible.

    Args:
        path: Its cache file.
        build: Compiles it and writes the file, if that is missing or damaged.
    """
    return _kept_address(path, _stand_ins()) or load.load(build(), _stand_ins())


def kept_address(path: Path) -> int | None:
    """Return the address of the function in a cache file, ``None`` if it has to be compiled."""
    return _kept_address(path, _stand_ins())


def _stand_ins() -> dict[str, int]:
    return {_FREE: symbol_address("abort")}


def numba_code(function: Any) -> ObjectCode:
    """Return the object code of a numba function with one signature."""
    (compiled,) = function.overloads.values()
    return library_code(compiled.library, compiled.fndesc.llvm_func_name)


def library_code(library: Any, symbol: str) -> ObjectCode:
    """Return the object code of a numba library."""
    _, _, (code, _) = library.serialize_using_object_code()
    needs = load.needed_symbols(library.get_llvm_str())
    return ObjectCode(symbol, code, needs, load.target())


def native_function(
    name: str, address: int, kinds: str, *, gil: bool, problem: Raiser
) -> Callable[..., int]:
    """Return native code as a builtin function.

    Args:
        name: Its name.
        address: The address of the code.
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        gil: Whether calls hold the GIL, which is faster but blocks other threads.
        problem: Raises the exception that the code reports, from the address of its record.
    """
    if not is_known():
        return _by_ctypes(address, kinds, gil=gil, problem=problem)
    places = {"ludus.native": address, "ludus.problem": _raiser_address(problem)}
    return _callable(name, shim_source(kinds, gil=gil), places)


def _by_ctypes(address: int, kinds: str, *, gil: bool, problem: Raiser) -> Callable[..., int]:
    """Return the function of :func:`native_function` through ctypes, ten times as slow."""
    numbers: dict[str, Any] = {"i": ctypes.c_int64, "f": ctypes.c_double}
    prototype = ctypes.PYFUNCTYPE if gil else ctypes.CFUNCTYPE
    cells = (ctypes.c_void_p, ctypes.c_void_p)
    native = prototype(ctypes.c_int32, *cells, *(numbers[kind] for kind in kinds))(address)

    def call(*arguments: Any) -> int:
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        if native(ctypes.addressof(result), ctypes.addressof(error), *arguments):
            problem(error.value or 0)
        return result.value

    return call


def shared_function(name: str, addresses: tuple[int, int]) -> Callable[..., int]:
    """Return the function of :func:`shared_source`."""
    even, odd = addresses
    return _callable(name, shared_source(), {"ludus.even": even, "ludus.odd": odd})


def step_address(address: int, source: str, *, problem: Raiser) -> int:
    """Return the address of the function of :func:`step_source`."""
    places = {"ludus.native": address, "ludus.problem": _raiser_address(problem), **step_symbols()}
    return shim_address(source, places)


def batch_address(address: int, kind: str, size: int, *, problem: Raiser) -> int:
    """Return the address of the function of :func:`batch_source`."""
    known = batch_symbols(kind)
    places = {"ludus.native": address, "ludus.problem": _raiser_address(problem), **known}
    return shim_address(batch_source(kind, size), places)


def _callable(name: str, source: str, places: Mapping[str, int]) -> Callable[..., int]:
    return builtin_function(name, shim_address(source, places))


def _raiser_address(problem: Raiser) -> int:
    _raisers[id(problem)] = problem
    return id(problem)


def shim_address(source: str, places: Mapping[str, int]) -> int:
    """Return the address of the function ``shim`` in LLVM IR.

    Args:
        source: The LLVM IR; it is the same in every process.
        places: Addresses in this process by symbol.
    """
    path = shim_path(source)
    return _kept_address(path, places) or load.load(keep_shim(source, path), places)


def shim_path(source: str) -> Path:
    """Return the cache file of LLVM IR."""
    # Imported here, because it takes ten milliseconds.
    from importlib.metadata import version

    parts = (source, version("llvmlite"), sys.version)
    tag = hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]
    return cache_folder() / f"shim_{tag}-{machine()}.o"


def keep_shim(source: str, path: Path) -> ObjectCode:
    """Compile LLVM IR, cache the object code and return it."""
    return keep(path, load.compile_ir(source, SHIM))


def _kept_address(path: Path, known: Mapping[str, int]) -> int | None:
    """Return the address of the function in a file, ``None`` if it is missing or cannot run here.

    Args:
        path: The file.
        known: Addresses by symbol.
    """
    function = kept(path)
    if function is None:
        return None
    try:
        return load.load(function, known)
    except load.UnusableCode:
        return None
