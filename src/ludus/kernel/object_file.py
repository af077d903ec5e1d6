"""The symbols that an object file expects from elsewhere."""

from __future__ import annotations

import struct

__all__ = ["undefined_symbols"]

_SYMBOL_TABLE = 2


def undefined_symbols(code: bytes) -> list[str] | None:
    """Return them for a 64-bit little-endian ELF file; ``None`` for another format."""
    if code[:6] != b"\x7fELF\x02\x01":
        return None
    (sections_at,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", code, sections_at + k * size) for k in range(count)
    ]
    found = set()
    for _, kind, _, _, start, length, names, _, _, entry in sections:
        if kind != _SYMBOL_TABLE:
            continue
        strings = sections[names][4]
        # The first symbol stands for none.
        for at in range(start + entry, start + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if section == 0:
                begin = strings + name
                found.add(code[begin : code.index(b"\0", begin)].decode())
    return sorted(found)
