"""Object code put into memory by hand, without a compiler's libraries.

LLVM could do it, but brings sixty megabytes along and takes a tenth of a second to start. What is
not understood here is left to it.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ludus.kernel.code_memory import CodeMemory
from ludus.kernel.object_file import (
    ABSOLUTE,
    COMMON,
    UNDEFINED,
    ObjectFile,
    Section,
    Symbol,
    UnknownObject,
    read_object,
)
from ludus.kernel.relocation import PROCESSORS, Processor

__all__ = ["is_possible", "load"]

Resolve = Callable[[str], int]
"""From the name of a symbol to its address; raises ``UnknownObject`` if it has none."""

_MACHINES = {"x86_64": 62, "aarch64": 183}
_WRITE, _ALLOCATE, _EXECUTE = 1, 2, 4
_MERGE, _STRINGS, _LINK, _GROUP, _LARGE = 0x10, 0x20, 0x40, 0x200, 0x10000000
_KNOWN_FLAGS = _WRITE | _ALLOCATE | _EXECUTE | _MERGE | _STRINGS | _LINK | _GROUP | _LARGE
_BITS, _NO_BITS, _UNWIND = 1, 8, 0x70000001
# Branches reach 128 MiB on some processors.
_LIMIT = 2**26
_STUB, _SLOT = 16, 8

# Code that was handed out is never unloaded.
_kept: list[CodeMemory] = []


def is_possible() -> bool:
    """Tell whether code can be loaded here at all: on Linux, for two kinds of processors."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and os.uname().machine in _MACHINES


def load(code: bytes, symbol: str, resolve: Resolve) -> int:
    """Put object code into memory; return the address of one of its functions.

    Args:
        code: The object file.
        symbol: The function's name.
        resolve: Finds what the file expects from elsewhere.

    Raises:
        DamagedObject: The file contradicts itself.
        UnknownObject: Something in it is not understood, or the system does not allow it.
    """
    if not is_possible():
        raise UnknownObject(f"Code is not loaded here on {sys.platform}.")
    file = read_object(code)
    if file.machine != _MACHINES[os.uname().machine]:
        raise UnknownObject(f"The object file is for processors of kind {file.machine}.")
    plan = _plan(file)
    places = [s for s in file.symbols if s.name == symbol and _is_code(file, s)]
    if len(places) != 1:
        raise UnknownObject(f"The object file has {len(places)} functions {symbol}.")
    try:
        memory = CodeMemory(plan.size)
        address = _Image(file, plan, memory, resolve).fill(places[0])
        memory.protect(0, plan.constants, run=True)
        memory.protect(plan.constants, plan.variables, run=False)
    except OSError as problem:
        raise UnknownObject(f"The system does not allow it: {problem}") from problem
    _kept.append(memory)
    return address


class _Plan(NamedTuple):
    """Where things go: code, then constants, then variables, each on pages of their own."""

    sections: dict[int, int]
    commons: dict[int, int]
    stubs: dict[int, int]
    slots: dict[int, int]
    constants: int
    variables: int
    size: int


def _plan(file: ObjectFile) -> _Plan:
    rules = PROCESSORS[file.machine].rules
    loaded = {k: section for k, section in enumerate(file.sections) if _is_loaded(section)}
    wanted: dict[str, set[int]] = {"symbol": set(), "branch": set(), "slot": set()}
    for relocation in file.relocations:
        if relocation.section not in loaded:
            continue
        rule = rules.get(relocation.kind)
        if rule is None:
            raise UnknownObject(f"Relocations of kind {relocation.kind} are not known.")
        if relocation.offset + rule.size > len(file.sections[relocation.section].content):
            raise UnknownObject("A relocation changes what is not in the object file.")
        near = rule.wants == "branch" and file.symbols[relocation.symbol].section != UNDEFINED
        wanted["symbol" if near else rule.wants].add(relocation.symbol)
    space = _Space()
    parts: dict[bool, list[int]] = {True: [], False: []}
    for k, section in loaded.items():
        if not section.flags & _WRITE:
            parts[bool(section.flags & _EXECUTE)].append(k)
    sections = {k: space.take(loaded[k].size, loaded[k].alignment) for k in parts[True]}
    stubs = {k: space.take(_STUB, _STUB) for k in sorted(wanted["branch"])}
    constants = space.next_page()
    sections |= {k: space.take(loaded[k].size, loaded[k].alignment) for k in parts[False]}
    slots = {k: space.take(_SLOT, _SLOT) for k in sorted(wanted["slot"])}
    variables = space.next_page()
    for k, section in loaded.items():
        if section.flags & _WRITE:
            sections[k] = space.take(section.size, section.alignment)
    commons = {
        k: space.take(symbol.size, symbol.value)
        for k, symbol in enumerate(file.symbols)
        if symbol.section == COMMON
    }
    return _Plan(sections, commons, stubs, slots, constants, variables, space.next_page())


def _is_loaded(section: Section) -> bool:
    """Tell whether a section must be in memory.

    Raises:
        UnknownObject: It must be, but it is not clear how.
    """
    if not section.flags & _ALLOCATE:
        return False
    # It tells how exceptions find their way, and there are none.
    if section.kind == _UNWIND or section.name == ".eh_frame":
        return False
    both = _WRITE | _EXECUTE
    if (
        section.kind not in (_BITS, _NO_BITS)
        or section.flags & ~_KNOWN_FLAGS
        or section.flags & both == both
    ):
        raise UnknownObject(f"It is not known how to load the section {section.name}.")
    return True


def _is_code(file: ObjectFile, symbol: Symbol) -> bool:
    if symbol.section in (UNDEFINED, ABSOLUTE, COMMON):
        return False
    section = file.sections[symbol.section]
    return bool(section.flags & _EXECUTE) and symbol.value < section.size


class _Space:
    """Memory given out piece by piece."""

    def __init__(self) -> None:
        self._end = 0

    def take(self, size: int, alignment: int) -> int:
        alignment = max(alignment, 1)
        if alignment & (alignment - 1) or alignment > mmap.PAGESIZE:
            raise UnknownObject(f"An alignment of {alignment} is not known.")
        begin = -(-self._end // alignment) * alignment
        self._end = begin + size
        if self._end > _LIMIT:
            raise UnknownObject(f"More than {_LIMIT} bytes of code are not loaded.")
        return begin

    def next_page(self) -> int:
        return self.take(0, mmap.PAGESIZE)


class _Image:
    """The code as it will lie in memory."""

    def __init__(self, file: ObjectFile, plan: _Plan, memory: CodeMemory, resolve: Resolve) -> None:
        self._file, self._plan, self._memory, self._resolve = file, plan, memory, resolve
        self._processor: Processor = PROCESSORS[file.machine]

    def fill(self, function: Symbol) -> int:
        """Write everything; return the function's address."""
        image, base = self._memory.image, self._memory.address
        for k, at in self._plan.sections.items():
            content = self._file.sections[k].content
            image[at : at + len(content)] = content
        addresses = {k: self._address(k) for k in self._used()}
        for k, at in self._plan.stubs.items():
            stub = self._processor.jump + addresses[k].to_bytes(8, "little")
            image[at : at + len(stub)] = stub
        for k, at in self._plan.slots.items():
            image[at : at + _SLOT] = addresses[k].to_bytes(8, "little")
        for section, offset, kind, k, addend in self._file.relocations:
            if section not in self._plan.sections:
                continue
            rule = self._processor.rules[kind]
            address = addresses[k]
            if rule.wants == "slot":
                address = base + self._plan.slots[k]
            elif rule.wants == "branch" and k in self._plan.stubs:
                address = base + self._plan.stubs[k]
            at = self._plan.sections[section] + offset
            rule.write(image, at, base + at, address + addend)
        return self._place(function)

    def _used(self) -> Iterable[int]:
        return {r.symbol for r in self._file.relocations if r.section in self._plan.sections}

    def _address(self, k: int) -> int:
        symbol = self._file.symbols[k]
        if symbol.section == COMMON:
            return self._memory.address + self._plan.commons[k]
        if symbol.section == UNDEFINED:
            if symbol.weak or not symbol.name:
                raise UnknownObject(f"It is not known what {symbol.name!r} may be without.")
            return self._resolve(symbol.name)
        return self._place(symbol)

    def _place(self, symbol: Symbol) -> int:
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section not in self._plan.sections:
            raise UnknownObject(f"{symbol.name} lies in a section that is not loaded.")
        return self._memory.address + self._plan.sections[symbol.section] + symbol.value
