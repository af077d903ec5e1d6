"""How addresses get into code, for each kind of processor.

A relocation writes a symbol's address in its own way; here are those that LLVM makes of kernels.
Whoever has another one has it loaded by LLVM.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from ludus.kernel.object_file import UnknownObject

__all__ = ["PROCESSORS", "Processor", "Rule"]

_ALL_BITS = 2**64 - 1

Write = Callable[[Any, int, int, int], None]
"""Writes into an image, at an offset that is a place in memory, the address asked for."""


class Rule(NamedTuple):
    """One kind of relocation.

    Attributes:
        wants: What to give the address of: ``"symbol"`` itself, a ``"slot"`` that holds its
            address, or a ``"branch"``, which is near: the symbol, or a stub that leads there.
        size: How many bytes are written.
        write: Writes them.
    """

    wants: str
    size: int
    write: Write


class Processor(NamedTuple):
    """A kind of processor: its relocations, and a jump to the address that follows it."""

    rules: dict[int, Rule]
    jump: bytes


def _number(form: str, *, relative: bool = False) -> Write:
    """Return what writes the address as a number, or the way to it."""

    def write(image: Any, at: int, place: int, address: int) -> None:
        number = address - place if relative else address
        if form == "<Q":
            number &= _ALL_BITS
        try:
            struct.pack_into(form, image, at, number)
        except struct.error:
            raise UnknownObject(f"{number:#x} is too far away for a relocation.") from None

    return write


def _field(first: int, width: int, find: Callable[[int, int], int]) -> Write:
    """Return what writes some bits of an instruction."""
    mask = (1 << width) - 1

    def write(image: Any, at: int, place: int, address: int) -> None:
        (instruction,) = struct.unpack_from("<I", image, at)
        bits = find(place, address & _ALL_BITS) & mask
        struct.pack_into("<I", image, at, instruction & ~(mask << first) | bits << first)

    return write


def _part(shift: int) -> Write:
    """Return what writes 16 bits of an address into a move."""
    return _field(5, 16, lambda _, address: address >> shift)


def _in_page(scale: int) -> Write:
    """Return what writes where in its page of 4 KiB an address is, counted in units."""

    def find(_place: int, address: int) -> int:
        if address % (1 << scale):
            raise UnknownObject(f"{address:#x} is not aligned as its relocation demands.")
        return (address & 0xFFF) >> scale

    return _field(10, 12, find)


def _page(image: Any, at: int, place: int, address: int) -> None:
    """Write how many pages of 4 KiB away an address is; the two lowest bits lie apart."""
    pages = (address >> 12) - (place >> 12)
    if not -(1 << 20) <= pages < 1 << 20:
        raise UnknownObject(f"{address:#x} is too many pages away for a relocation.")
    _field(29, 2, lambda *_: pages)(image, at, place, address)
    _field(5, 19, lambda *_: pages >> 2)(image, at, place, address)


def _way(place: int, address: int) -> int:
    """Return how many instructions away an address is."""
    way = address - place
    if way % 4 or not -(1 << 27) <= way < 1 << 27:
        raise UnknownObject(f"{address:#x} is too far away for a branch.")
    return way >> 2


_X86_64 = {
    1: Rule("symbol", 8, _number("<Q")),
    2: Rule("symbol", 4, _number("<i", relative=True)),
    4: Rule("branch", 4, _number("<i", relative=True)),
    9: Rule("slot", 4, _number("<i", relative=True)),
    10: Rule("symbol", 4, _number("<I")),
    11: Rule("symbol", 4, _number("<i")),
    24: Rule("symbol", 8, _number("<Q", relative=True)),
    41: Rule("slot", 4, _number("<i", relative=True)),
    42: Rule("slot", 4, _number("<i", relative=True)),
}

_AARCH64 = {
    257: Rule("symbol", 8, _number("<Q")),
    260: Rule("symbol", 8, _number("<Q", relative=True)),
    261: Rule("symbol", 4, _number("<i", relative=True)),
    264: Rule("symbol", 4, _part(0)),
    266: Rule("symbol", 4, _part(16)),
    268: Rule("symbol", 4, _part(32)),
    269: Rule("symbol", 4, _part(48)),
    275: Rule("symbol", 4, _page),
    277: Rule("symbol", 4, _in_page(0)),
    278: Rule("symbol", 4, _in_page(0)),
    282: Rule("branch", 4, _field(0, 26, _way)),
    283: Rule("branch", 4, _field(0, 26, _way)),
    284: Rule("symbol", 4, _in_page(1)),
    285: Rule("symbol", 4, _in_page(2)),
    286: Rule("symbol", 4, _in_page(3)),
    299: Rule("symbol", 4, _in_page(4)),
    311: Rule("slot", 4, _page),
    312: Rule("slot", 4, _in_page(3)),
}

PROCESSORS = {
    # jmp [rip + 0]
    62: Processor(_X86_64, bytes.fromhex("ff2500000000")),
    # ldr x16, 8; br x16
    183: Processor(_AARCH64, struct.pack("<II", 0x58000050, 0xD61F0200)),
}
"""By ELF's number for the kind of processor."""
