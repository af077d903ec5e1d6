"""Native code: compiled by numba once, kept on disk, loaded without numba ever after.

A file holds one function: a line of JSON (its symbol, the symbols it needs, a hash), then the
object code. LLVM's linker loads it, in a tenth of the time that the compiler takes to start. The
code belongs to a kind of processor, so the file's name tells which.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ludus.kernel.callable import shim_source
from ludus.kernel.cpython import builtin_function
from ludus.kernel.object_file import undefined_symbols
from ludus.kernel.shared_call import shared_source
from ludus.kernel.step_call import step_source

__all__ = [
    "cache_folder",
    "machine",
    "native_address",
    "native_function",
    "shared_function",
    "step_address",
]

_FREE = "NRT_MemInfo_call_dtor"
# What functions that have been handed out stand on.
_kept: list[Any] = []


def native_address(path: Path, build: Callable[[], Any]) -> int:
    """Return the address of the function at ``path``, built and kept there if need be.

    Args:
        path: Where its object code is kept; what is missing or damaged is built.
        build: Compiles it; returns a numba function with one signature, that returns an int.
    """
    address = _loaded(path)
    if address is None:
        symbol, code = _object_code(build())
        _keep(path, symbol, code)
        address = _linked(symbol, code, undefined_symbols(code))
    return address


def native_function(
    name: str, address: int, kinds: str, *, gil: bool, problem: str
) -> Callable[..., int]:
    """Return a function that Python calls like a builtin.

    Args:
        name: Its name.
        address: Where its code is.
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        gil: Whether calls keep Python's lock: other threads wait, but the call is quicker.
        problem: The text of the ``IndexError`` if an index is out of range.
    """
    text = ctypes.create_string_buffer(problem.encode())
    _kept.append(text)
    return _callable(name, shim_source(kinds, address, gil=gil, problem=ctypes.addressof(text)))


def shared_function(name: str, addresses: tuple[int, int]) -> Callable[..., int]:
    """Return a function by which threads share a call: see :func:`shared_source`."""
    return _callable(name, shared_source(addresses))


def step_address(address: int, *, problem: str, **details: Any) -> int:
    """Return the address of a whole step: see :func:`step_source`."""
    text = ctypes.create_string_buffer(problem.encode())
    _kept.append(text)
    return _made(step_source(address, ctypes.addressof(text), **details))


def _callable(name: str, source: str) -> Callable[..., int]:
    return builtin_function(name, _made(source))  # type: ignore[no-any-return]


def _made(source: str) -> int:
    """Return the address of the ``shim`` in a text of LLVM's language."""
    engine = _llvm().create_mcjit_compiler(_llvm().parse_assembly(source), _target_machine())
    engine.finalize_object()
    _kept.append(engine)
    return int(engine.get_function_address("shim"))


def _object_code(function: Any) -> tuple[str, bytes]:
    (compiled,) = function.overloads.values()
    _, _, (code, _) = compiled.library.serialize_using_object_code()
    return compiled.fndesc.llvm_func_name, code


def _keep(path: Path, symbol: str, code: bytes) -> None:
    header = {
        "symbol": symbol,
        "needs": undefined_symbols(code),
        "sha256": hashlib.sha256(code).hexdigest(),
    }
    # Another process may be writing the same; whoever is last replaces a file by its equal.
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(json.dumps(header).encode() + b"\n" + code)
        draft.replace(path)
    except OSError:
        # A full disk costs the next process a compile, and this one nothing.
        draft.unlink(missing_ok=True)


def _loaded(path: Path) -> int | None:
    try:
        line, code = path.read_bytes().split(b"\n", 1)
        header = json.loads(line)
        if hashlib.sha256(code).hexdigest() != header["sha256"]:
            return None
        return _linked(header["symbol"], code, header["needs"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _linked(symbol: str, code: bytes, needs: list[str] | None) -> int:
    """Load object code into this process; return the address of its function."""
    llvm = _llvm()
    if needs is None or not all(map(_is_here, needs)):
        # Few kernels get here: those that allocate, or call what numba brings along.
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()
    # An engine each: functions of equal names in two objects stay apart.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _kept.append(engine)
    return int(engine.get_function_address(symbol))


def _is_here(symbol: str) -> bool:
    known = _llvm().address_of_symbol(symbol) is not None
    return known or hasattr(ctypes.CDLL(None), symbol)


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Numba's code names what would free an array without a reference. Arrays of kernels have owners
    # elsewhere, so it is never called, and need not be loaded.
    if llvm.address_of_symbol(_FREE) is None:
        llvm.add_symbol(_FREE, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value)
    return llvm


def _target_machine() -> Any:
    return _llvm().Target.from_default_triple().create_target_machine(jit=True)


@cache
def machine() -> str:
    """Return a hash of the processor that code is compiled for."""
    llvm = _llvm()
    found = (llvm.get_process_triple(), llvm.get_host_cpu_name())
    features = llvm.get_host_cpu_features().flatten()
    return hashlib.sha256("|".join((*found, features)).encode()).hexdigest()[:8]


@cache
def cache_folder() -> Path:
    """Return the folder for compiled kernels: ``LUDUS_CACHE``, or below the user's cache.

    What lies there is run, so a folder that others may write to is not used.
    """
    base = os.environ.get("LUDUS_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "ludus" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_own(folder):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="ludus-kernels-"))


def _is_own(folder: Path) -> bool:
    if not hasattr(os, "getuid"):
        return os.access(folder, os.W_OK)
    status = folder.stat()
    private = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return private and os.access(folder, os.W_OK)
