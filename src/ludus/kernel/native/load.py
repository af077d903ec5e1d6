"""Compiles LLVM IR to object code, and loads object code, through llvmlite.

Importing llvmlite takes 50 ms and 50 MB, so it is imported at the first call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from ludus.kernel.native.cache import ObjectCode
from ludus.kernel.native.cpython import symbol_address

__all__ = ["UnusableCode", "bindings", "compile_ir", "load", "needed_symbols", "target"]

# Engines own the memory of the loaded functions, which are never unloaded.
_engines: list[Any] = []

_NAME = re.compile(r'@"?([\w.$-]+)"?')
_DECLARED = re.compile(
    r'^declare [^@\n]*@"?([\w.$-]+)|^@"?([\w.$-]+)"? = external (?:\w+ )*(?:global|constant)\b',
    re.MULTILINE,
)
# Intrinsics that LLVM may turn into calls of the C library. There are others (llvm.fma,
# llvm.floor), but processors that Ludus runs on have instructions for them.
_MEMORY = {"memcpy", "memmove", "memset"}
_MATH = {"cos", "exp", "exp10", "exp2", "log", "log10", "log2", "pow", "sin", "tan"}
_MATH |= {"acos", "asin", "atan", "atan2", "cosh", "sinh", "tanh"}
_SUFFIXES = {"f64": "", "f32": "f"}


class UnusableCode(ValueError):
    """Object code that cannot run in this process."""


@cache
def bindings() -> Any:
    """Return llvmlite's binding module, initialised."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def target() -> str:
    """Return LLVM's name of the processor that it compiles for, and its features."""
    llvm = bindings()
    features = llvm.get_host_cpu_features().flatten()
    return "|".join((llvm.get_process_triple(), llvm.get_host_cpu_name(), features))


def compile_ir(source: str, symbol: str) -> ObjectCode:
    """Compile LLVM IR source; ``symbol`` is the name of its function."""
    module = bindings().parse_assembly(source)
    code = bytes(_target_machine().emit_object(module))
    return ObjectCode(symbol, code, needed_symbols(str(module)), target())


def needed_symbols(ir: str) -> tuple[str, ...]:
    """Return the external symbols that an LLVM module needs, sorted.

    Declarations that nothing refers to are left out.
    """
    mentions = Counter(_NAME.findall(ir))
    declared = {function or variable for function, variable in _DECLARED.findall(ir)}
    names = set()
    for name in (name for name in declared if mentions[name] > 1):
        if not name.startswith("llvm."):
            names.add(name)
            continue
        _, function, kind, *_ = f"{name}..".split(".")
        if function in _MEMORY:
            names.add(function)
        elif function in _MATH:
            names.add(function + _SUFFIXES.get(kind, ""))
    for kind, function in (("double", "fmod"), ("float", "fmodf")):
        if re.search(rf"= frem (\w+ )*{kind} ", ir):
            names.add(function)
    return tuple(sorted(names))


def load(function: ObjectCode, known: Mapping[str, int]) -> int:
    """Load object code into this process; return the address of its function.

    LLVM does not report unresolved symbols: the first call would jump to address 0. So all symbols
    are resolved here.

    Args:
        function: The object code.
        known: Addresses by symbol, valid for this function only. Other symbols are looked up in the
            process.

    Raises:
        UnusableCode: It was compiled for another processor, needs a symbol that this process does
            not have, or does not contain its function.
    """
    if function.target != target():
        raise UnusableCode(f"The code is for {function.target}, this process runs on {target()}.")
    places = {name: known.get(name) or _in_process(name) for name in function.needs}
    llvm = bindings()
    # One engine per function, because symbols may have different addresses in two functions.
    module = llvm.parse_assembly("\n".join(f'@"{name}" = external global i8' for name in places))
    engine = llvm.create_mcjit_compiler(module, _target_machine())
    for name, address in places.items():
        engine.add_global_mapping(module.get_global_variable(name), address)
    engine.add_object_file(llvm.ObjectFileRef.from_data(function.code))
    engine.finalize_object()
    address = int(engine.get_function_address(function.symbol))
    if address == 0:
        raise UnusableCode(f"The object code has no function {function.symbol}.")
    _engines.append(engine)
    return address


def _in_process(name: str) -> int:
    """Return the address of a symbol of the process or of numba.

    Raises:
        UnusableCode: There is no such symbol.
    """
    try:
        return symbol_address(name)
    except LookupError:
        pass
    found = bindings().address_of_symbol(name)
    if found is None:
        # Only for kernels that allocate, or call functions of numba's runtime.
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()
        found = bindings().address_of_symbol(name)
    if found is None:
        raise UnusableCode(f"Nothing in this process is called {name}.")
    return int(found)


def _target_machine() -> Any:
    return bindings().Target.from_default_triple().create_target_machine(jit=True)
