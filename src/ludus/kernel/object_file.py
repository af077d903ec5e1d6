"""Object files as compilers write them: sections, symbols, relocations.

What is read may have been damaged, so every offset in it is looked at before it is followed.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

__all__ = [
    "ABSOLUTE",
    "COMMON",
    "UNDEFINED",
    "DamagedObject",
    "ObjectFile",
    "Relocation",
    "Section",
    "Symbol",
    "UnknownObject",
    "read_object",
]

UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
"""Sections that a symbol may have instead of a place in one: another file's, none, or any."""

_HEADER = "<16sHHIQQQIHHHHHH"
_SECTION = "<IIQQQQIIQQ"
_SYMBOL = "<IBBHQQ"
_RELOCATION = "<QQq"
_RELOCATABLE = 1
_SYMBOL_TABLE, _STRINGS, _WITH_ADDENDS, _NO_BITS, _WITHOUT_ADDENDS = 2, 3, 4, 8, 9
_LOCAL, _GLOBAL, _WEAK = 0, 1, 2


class DamagedObject(ValueError):
    """What the file says of itself is impossible."""


class UnknownObject(ValueError):
    """The file may be right, but has something that is not understood here."""


class Section(NamedTuple):
    """A part of the file; ``content`` is shorter than ``size`` where the rest is zeros."""

    name: str
    kind: int
    flags: int
    content: bytes
    size: int
    alignment: int


class Symbol(NamedTuple):
    """A name for a place; ``value`` is an offset in a section, or the alignment if ``COMMON``."""

    name: str
    section: int
    value: int
    size: int
    weak: bool


class Relocation(NamedTuple):
    """A place in a section that depends on a symbol's address."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """What is in a file; ``machine`` is ELF's number for the kind of processor."""

    machine: int
    sections: list[Section]
    symbols: list[Symbol]
    relocations: list[Relocation]

    def undefined(self) -> list[str]:
        """Return the names of the symbols that the file expects from elsewhere."""
        return sorted({s.name for s in self.symbols if s.section == UNDEFINED and s.name})


def read_object(code: bytes) -> ObjectFile:
    """Read a 64-bit little-endian ELF file.

    Raises:
        UnknownObject: It is in another format.
        DamagedObject: It contradicts itself.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        raise UnknownObject(f"This object file begins with {code[:6]!r}: no 64-bit ELF file.")
    _, kind, machine, _, _, _, begin, _, _, _, _, size, count, names = _unpack(_HEADER, code, 0)
    if kind != _RELOCATABLE or size != struct.calcsize(_SECTION):
        raise UnknownObject(f"Expected a relocatable ELF file, got one of kind {kind}.")
    headers = [_unpack(_SECTION, code, begin + k * size) for k in range(count)]
    contents = [_content(code, header) for header in headers]
    strings = _strings(headers, contents, names)
    sections = [
        Section(_text(strings, header[0]), header[1], header[2], content, header[5], header[8])
        for header, content in zip(headers, contents, strict=True)
    ]
    tables = [k for k, header in enumerate(headers) if header[1] == _SYMBOL_TABLE]
    if len(tables) > 1:
        raise UnknownObject("Expected one table of symbols in an object file, got several.")
    symbols: list[Symbol] = []
    if tables:
        strings = _strings(headers, contents, headers[tables[0]][6])
        symbols = [
            _symbol(entry, strings, sections) for entry in _entries(_SYMBOL, contents[tables[0]])
        ]
    relocations = [
        _relocation(entry, header[7], sections, symbols)
        for header, content in zip(headers, contents, strict=True)
        if header[1] == _WITH_ADDENDS
        for entry in _entries(_RELOCATION, content)
    ]
    if any(section.kind == _WITHOUT_ADDENDS for section in sections):
        raise UnknownObject("This object file has relocations without addends.")
    return ObjectFile(machine, sections, symbols, relocations)


def _unpack(form: str, code: bytes, at: int) -> tuple[Any, ...]:
    if at + struct.calcsize(form) > len(code):
        raise DamagedObject(f"An object file of {len(code)} bytes has nothing at {at}.")
    return struct.unpack_from(form, code, at)


def _entries(form: str, content: bytes) -> list[tuple[Any, ...]]:
    if len(content) % struct.calcsize(form):
        raise DamagedObject(f"A table of {len(content)} bytes in an object file ends in an entry.")
    return list(struct.iter_unpack(form, content))


def _content(code: bytes, header: tuple[Any, ...]) -> bytes:
    _, kind, _, _, begin, size, *_ = header
    # The very first stands for no section.
    if kind in (0, _NO_BITS):
        return b""
    if begin + size > len(code):
        raise DamagedObject(f"A section's {size} bytes at {begin} lie outside its object file.")
    return code[begin : begin + size]


def _strings(headers: list[tuple[Any, ...]], contents: list[bytes], index: int) -> bytes:
    if index >= len(headers) or headers[index][1] != _STRINGS:
        raise DamagedObject(f"Section {index} of an object file holds no names.")
    return contents[index]


def _text(strings: bytes, begin: int) -> str:
    end = strings.find(b"\0", begin)
    if begin >= len(strings) or end < 0:
        raise DamagedObject(f"A name at {begin} lies outside of the names of an object file.")
    return strings[begin:end].decode("utf-8", "backslashreplace")


def _symbol(entry: tuple[Any, ...], strings: bytes, sections: list[Section]) -> Symbol:
    name, info, _, section, value, size = entry
    binding = info >> 4
    if binding not in (_LOCAL, _GLOBAL, _WEAK):
        raise UnknownObject(f"A symbol of an object file has the binding {binding}.")
    if section not in (UNDEFINED, ABSOLUTE, COMMON):
        if section >= len(sections):
            raise DamagedObject(f"A symbol lies in section {section}, which is not there.")
        if value > sections[section].size:
            raise DamagedObject(f"A symbol at {value} lies outside of its section.")
    return Symbol(_text(strings, name), section, value, size, binding == _WEAK)


def _relocation(
    entry: tuple[Any, ...], target: int, sections: list[Section], symbols: list[Symbol]
) -> Relocation:
    offset, info, addend = entry
    symbol, kind = info >> 32, info & 0xFFFFFFFF
    if not (target < len(sections) and symbol < len(symbols)):
        raise DamagedObject(f"A relocation names section {target} and symbol {symbol}.")
    if offset >= sections[target].size:
        raise DamagedObject(f"A relocation at {offset} lies outside of its section.")
    return Relocation(target, offset, kind, symbol, addend)
