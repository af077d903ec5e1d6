"""Which processor code is compiled for.

LLVM compiles for the processor it runs on, and what it makes does not run on every other. It would
tell which one it found, but only once it is loaded; here the processor is asked by the same means.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from ludus.kernel.code_memory import CodeMemory

__all__ = ["machine"]

# void cpuid(uint32 leaf, uint32 part, uint32 registers[4])
_CPUID = bytes.fromhex("534989d089f889f10fa241890041895804418948084189500c5bc3")
# uint64 xgetbv(): which registers the system saves; only if it does at all.
_XGETBV = bytes.fromhex("31c90f01d048c1e2204809d0c3")
_XGETBV_AT = 32
_SAVES_REGISTERS = 1 << 27
_A, _B, _C, _D = range(4)
# Leaf, part and the registers of it that tell what a processor can do. Others tell which of several
# processors was asked, and the like.
_LEAVES = (
    (0x00000000, 0, (_B, _C, _D)),
    (0x00000001, 0, (_A, _C, _D)),
    (0x00000007, 0, (_B, _C, _D)),
    (0x00000007, 1, (_A, _B, _C, _D)),
    (0x0000000D, 1, (_A,)),
    (0x00000014, 0, (_B,)),
    (0x00000019, 0, (_B,)),
    (0x0000001E, 1, (_A,)),
    (0x00000024, 0, (_B,)),
    (0x80000001, 0, (_C, _D)),
    (0x80000008, 0, (_B,)),
)
_ARM_LINES = (
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
    "Features",
)


@cache
def machine() -> str:
    """Return a hash of the processor that code is compiled for."""
    found = _on_linux() if sys.platform == "linux" else None
    return hashlib.sha256((found or _by_llvm()).encode()).hexdigest()[:8]


def _on_linux() -> str | None:
    kind = os.uname().machine
    if sys.maxsize <= 2**32 or kind not in _ASK:
        return None
    try:
        return f"linux|{kind}|{_ASK[kind]()}"
    except (OSError, ValueError):
        return None


def _x86_64() -> str:
    """Return what the instruction ``cpuid`` tells, and which registers the system saves."""
    memory = CodeMemory(_XGETBV_AT + len(_XGETBV))
    memory.image[: len(_CPUID)] = _CPUID
    memory.image[_XGETBV_AT : _XGETBV_AT + len(_XGETBV)] = _XGETBV
    memory.protect(0, len(memory.image), run=True)
    number = ctypes.c_uint32
    ask = ctypes.CFUNCTYPE(None, number, number, ctypes.c_void_p)(memory.address)
    registers = (number * 4)()

    def asked(leaf: int, part: int) -> list[int]:
        ask(leaf, part, ctypes.addressof(registers))
        return list(registers)

    highest = {0: asked(0, 0)[_A], 0x80000000: asked(0x80000000, 0)[_A]}
    told = []
    for leaf, part, chosen in _LEAVES:
        # Beyond the highest, some processors tell whatever the highest would.
        if leaf <= highest[leaf & 0x80000000]:
            found = asked(leaf, part)
            told.append(f"{leaf:x}.{part}:" + ",".join(f"{found[k]:x}" for k in chosen))
    saved = 0
    if asked(1, 0)[_C] & _SAVES_REGISTERS:
        saved = ctypes.CFUNCTYPE(ctypes.c_uint64)(memory.address + _XGETBV_AT)()
    return "|".join([*told, f"{saved:x}"])


def _aarch64() -> str:
    """Return what the system tells, of each kind of processor if there are several."""
    kinds = set()
    for block in Path("/proc/cpuinfo").read_text().split("\n\n"):
        pairs = [line.split(":", 1) for line in block.splitlines() if ":" in line]
        known = {name.strip(): value.strip() for name, value in pairs}
        kinds.add(tuple(known.get(name, "") for name in _ARM_LINES))
    kinds.discard(("",) * len(_ARM_LINES))
    if not kinds:
        raise ValueError("the system does not tell what processors it has")
    return repr(sorted(kinds))


_ASK = {"x86_64": _x86_64, "aarch64": _aarch64}


def _by_llvm() -> str:
    from ludus.kernel.llvm import bindings

    llvm = bindings()
    features = llvm.get_host_cpu_features().flatten()
    return "|".join((llvm.get_process_triple(), llvm.get_host_cpu_name(), features))
