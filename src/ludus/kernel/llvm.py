"""LLVM, through llvmlite: makes object code, and loads what is not understood elsewhere.

To import it takes memory and time, so this is done when there is something to do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ludus.kernel.object_file import DamagedObject, UnknownObject, read_object

__all__ = ["bindings", "link", "make", "object_code"]

# What functions that have been handed out stand on.
_kept: list[Any] = []


@cache
def bindings() -> Any:
    """Return llvmlite's module, ready for use."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def object_code(source: str) -> bytes:
    """Return the object code of a text of LLVM's language."""
    return bytes(_target_machine().emit_object(bindings().parse_assembly(source)))


def make(source: str, symbol: str, resolve: Callable[[str], int]) -> int:
    """Compile a text of LLVM's language into memory; return the address of one of its functions.

    Args:
        source: The text.
        symbol: The function's name.
        resolve: Finds the variables that the text expects from elsewhere.
    """
    module = bindings().parse_assembly(source)
    engine = bindings().create_mcjit_compiler(module, _target_machine())
    for variable in module.global_variables:
        engine.add_global_mapping(variable, resolve(variable.name))
    return _finished(engine, symbol)


def link(symbol: str, code: bytes, stand_ins: Mapping[str, int]) -> int:
    """Load object code into this process; return the address of one of its functions.

    Args:
        symbol: The function's name.
        code: The object file.
        stand_ins: Addresses for symbols that nobody else has.

    Raises:
        DamagedObject: There is no such function in it.
    """
    llvm = bindings()
    for name, address in stand_ins.items():
        if llvm.address_of_symbol(name) is None:
            llvm.add_symbol(name, address)
    if not _has_all(code):
        # Few kernels get here: those that allocate, or call what numba brings along.
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()
    # An engine each: functions of equal names in two objects stay apart.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    return _finished(engine, symbol)


def _finished(engine: Any, symbol: str) -> int:
    engine.finalize_object()
    _kept.append(engine)
    address = int(engine.get_function_address(symbol))
    if address == 0:
        raise DamagedObject(f"The object file has no function {symbol}.")
    return address


def _has_all(code: bytes) -> bool:
    """Tell whether all that a file needs is here already."""
    try:
        needed = read_object(code).undefined()
    except (UnknownObject, DamagedObject):
        return False
    return all(
        bindings().address_of_symbol(name) is not None or hasattr(ctypes.CDLL(None), name)
        for name in needed
    )


def _target_machine() -> Any:
    return bindings().Target.from_default_triple().create_target_machine(jit=True)
