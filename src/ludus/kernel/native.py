"""Native code: compiled once, kept on disk, loaded without a compiler ever after.

The code belongs to a kind of processor, so a file's name tells which.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ludus.kernel import llvm, loader
from ludus.kernel.batch_call import batch_source, batch_symbols
from ludus.kernel.callable import shim_source
from ludus.kernel.cpython import SHIM, builtin_function, symbol_address
from ludus.kernel.kept_code import KeptCode, cache_folder, keep, kept
from ludus.kernel.object_file import DamagedObject, UnknownObject
from ludus.kernel.processor import machine
from ludus.kernel.shared_call import shared_source
from ludus.kernel.step_call import step_symbols

__all__ = [
    "batch_address",
    "keep_shim",
    "native_address",
    "native_function",
    "numba_code",
    "shared_function",
    "shim_address",
    "shim_path",
    "step_address",
]

# Numba's code names what would free an array without a reference. Arrays of kernels have owners
# elsewhere, so it is never called, and need not be loaded.
_FREE = "NRT_MemInfo_call_dtor"
Raiser = Callable[[int], Any]
"""Raises an exception, from the address of numba's record of it."""

# Native functions that have been handed out refer to them.
_raisers: dict[int, Raiser] = {}


def native_address(path: Path, build: Callable[[], KeptCode]) -> int:
    """Return the address of the function at ``path``, built if need be.

    Args:
        path: Where its object code is kept.
        build: Compiles it and keeps it there, if that is missing or damaged.
    """
    stand_ins = {_FREE: symbol_address("abort")}

    def find(name: str) -> int:
        return stand_ins[name] if name in stand_ins else symbol_address(name)

    def link(function: KeptCode) -> int:
        return llvm.link(*function, stand_ins)

    return _address(path, build, find, link)


def numba_code(function: Any) -> KeptCode:
    """Return the code of a numba function with one signature."""
    (compiled,) = function.overloads.values()
    _, _, (code, _) = compiled.library.serialize_using_object_code()
    return KeptCode(compiled.fndesc.llvm_func_name, code)


def native_function(
    name: str, address: int, kinds: str, *, gil: bool, problem: Raiser
) -> Callable[..., int]:
    """Return a function that Python calls like a builtin.

    Args:
        name: Its name.
        address: Where its code is.
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        gil: Whether calls keep Python's lock: other threads wait, but the call is quicker.
        problem: Raises the exception that the code reports, from the address of its record.
    """
    places = {"ludus.native": address, "ludus.problem": _kept_address(problem)}
    return _callable(name, shim_source(kinds, gil=gil), places)


def shared_function(name: str, addresses: tuple[int, int]) -> Callable[..., int]:
    """Return a function by which threads share a call: see :func:`shared_source`."""
    even, odd = addresses
    return _callable(name, shared_source(), {"ludus.even": even, "ludus.odd": odd})


def step_address(address: int, source: str, *, problem: Raiser) -> int:
    """Return the address of a whole step, of which there is a text: see :func:`step_source`."""
    places = {"ludus.native": address, "ludus.problem": _kept_address(problem), **step_symbols()}
    return shim_address(source, places)


def batch_address(address: int, kind: str, size: int, *, problem: Raiser) -> int:
    """Return the address of a whole step of a batch: see :func:`batch_source`."""
    known = batch_symbols(kind)
    places = {"ludus.native": address, "ludus.problem": _kept_address(problem), **known}
    return shim_address(batch_source(kind, size), places)


def _callable(name: str, source: str, places: Mapping[str, int]) -> Callable[..., int]:
    return builtin_function(name, shim_address(source, places))  # type: ignore[no-any-return]


def _kept_address(problem: Raiser) -> int:
    _raisers[id(problem)] = problem
    return id(problem)


def shim_address(source: str, places: Mapping[str, int]) -> int:
    """Return the address of the ``shim`` in a text of LLVM's language.

    Args:
        source: The text; it is the same in every process.
        places: Addresses in this process, by the names that the text has for them.
    """

    def find(name: str) -> int:
        return places[name] if name in places else symbol_address(name)

    if not loader.is_possible():
        return llvm.make(source, SHIM, find)
    path = shim_path(source)
    return _address(
        path, lambda: keep_shim(source, path), find, lambda _: llvm.make(source, SHIM, find)
    )


def shim_path(source: str) -> Path:
    """Return where the code of a text of LLVM's language is kept."""
    parts = (source, version("llvmlite"), sys.version)
    tag = hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]
    return cache_folder() / f"shim_{tag}-{machine()}.o"


def keep_shim(source: str, path: Path) -> KeptCode:
    """Compile a text of LLVM's language, keep the code and return it."""
    return keep(path, KeptCode(SHIM, llvm.object_code(source)))


def _address(
    path: Path,
    build: Callable[[], KeptCode],
    find: Callable[[str], int],
    link: Callable[[KeptCode], int],
) -> int:
    """Return the address of a function in memory, from its file or built.

    Args:
        path: The file.
        build: Builds it, and writes the file.
        find: Returns the address of a symbol.
        link: Has LLVM load it, if the loader does not know how to.
    """
    function = kept(path)
    if function is not None:
        try:
            return _loaded(function, find) or link(function)
        except DamagedObject:
            pass
    function = build()
    try:
        return _loaded(function, find) or link(function)
    except DamagedObject:
        # A compiler knows better what it has just made.
        return link(function)


def _loaded(function: KeptCode, find: Callable[[str], int]) -> int | None:
    """Return a function's address after having loaded it, ``None`` if that is left to LLVM.

    Raises:
        DamagedObject: The object file contradicts itself.
    """
    try:
        return loader.load(function.code, function.symbol, find)
    except UnknownObject:
        return None
